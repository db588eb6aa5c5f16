/**
 * The packages that the tests need, in the versions of package.json: from the folder that COMPANION_KITS_MODULES names,
 * or else installed once into the system's temporary folder, so that nothing is left in the repository.
 */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const wanted = fileURLToPath(new URL('package.json', import.meta.url));

function installed() {
  const hash = createHash('sha256').update(readFileSync(wanted)).digest('hex').slice(0, 12);
  const folder = join(tmpdir(), `companion-kits-${hash}`);
  if (!existsSync(join(folder, 'installed'))) {
    mkdirSync(folder, { recursive: true });
    cpSync(wanted, join(folder, 'package.json'));
    const options = ['install', '--no-audit', '--no-fund', '--loglevel=error', '--prefix', folder];
    execFileSync('npm', options, { stdio: ['ignore', 'ignore', 'inherit'] });
    cpSync(wanted, join(folder, 'installed')); // an installation that broke off is made again
  }
  return folder;
}

/** The folder that has `node_modules`. */
export const folder = process.env.COMPANION_KITS_MODULES ?? installed();

/** Loads a package from there. */
export const load = createRequire(join(folder, 'package.json'));
