// The same classes for `import` as for `require`: one implementation, so that `instanceof` works across both.
import kit from './lib/index.js';

export const { Companion, CompanionError, SettingsProblem } = kit;
