/**
 * The packages that the tests need, in the versions of package.json: from the folder that COMPANION_KITS_MODULES names,
 * or else installed once into the system's temporary folder, so that nothing is left in the repository.
 */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const kit = fileURLToPath(new URL('../javascript', import.meta.url));
const wanted = fileURLToPath(new URL('package.json', import.meta.url));

function npm(...args) {
  const quiet = ['--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
  execFileSync('npm', [...args, ...quiet], { stdio: ['ignore', 'ignore', 'inherit'] });
}

function installed() {
  const hash = createHash('sha256').update(readFileSync(wanted)).digest('hex').slice(0, 12);
  const folder = join(tmpdir(), `companion-kits-${hash}`);
  if (!existsSync(join(folder, 'installed'))) {
    mkdirSync(folder, { recursive: true });
    cpSync(wanted, join(folder, 'package.json'));
    npm('install', '--prefix', folder);
    cpSync(wanted, join(folder, 'installed')); // an installation that broke off is made again
  }
  return folder;
}

/** The folder that has `node_modules`. */
export const folder = process.env.COMPANION_KITS_MODULES ?? installed();

/** Loads a package from there. */
export const load = createRequire(join(folder, 'package.json'));

/** Packs the kit for discord.js and installs the tarball there. */
export function installKit() {
  const work = mkdtempSync(join(tmpdir(), 'companion-pack-'));
  try {
    npm('pack', kit, '--pack-destination', work);
    const [tarball] = readdirSync(work);
    npm('install', '--no-save', '--prefer-offline', '--prefix', folder, join(work, tarball));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
