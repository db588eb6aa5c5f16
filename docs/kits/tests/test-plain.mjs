/**
 * plain.mjs and plain.sh, run against the service. `test_package_py.py` does the same with plain.py.
 *
 *     COMPANION_BIN=target/debug/companion node docs/kits/tests/test-plain.mjs
 */

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { KEY, Service, expect, main, until } from './harness.mjs';

const TOWN = {
  kind: 'guild',
  id: '190000000000000001',
  name: 'Harbour Town',
  icon: null,
  members: 1200,
  owner: '190000000000000002',
  setup: true,
  linked: false,
  roles: { MOD: ['190000000000000003'] },
};
const MEMBER = { kind: 'member', guild: TOWN.id, user: '190000000000000004', roles: ['190000000000000003'] };
const BLOCKED = { kind: 'blocked', user: '7' };

/** Starts a file and calls `test` with everything that it prints. */
async function withFile(command, name, env, test) {
  const file = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const child = spawn(command, [file], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((done) => child.once('exit', done));
  const printed = { text: '', code: undefined };
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (printed.text += text));
  void ended.then((code) => (printed.code = code ?? 'signal'));
  try {
    await test(printed);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

async function reportsASampleWorld(command, name) {
  const service = await Service.start();
  try {
    await service.sync(BLOCKED, { ...TOWN, id: '12' });
    const env = { COMPANION_URL: service.management, COMPANION_KEY: KEY };
    await withFile(command, name, env, async (printed) => {
      const shards = async () => Object.keys((await (await fetch(service.public)).json()).data.health.bot.shards);
      await until(`a heartbeat came (${printed.text})`, async () => (await shards()).join() === '0');
      const stored = [...(await service.stored()).values()];
      const inOrder = (records) => records.sort((a, b) => (a.kind < b.kind ? -1 : 1));
      expect(inOrder(stored), inOrder([BLOCKED, TOWN, MEMBER]), 'the world');
    });
    await withFile(command, name, { ...env, COMPANION_KEY: 'wrong' }, async (printed) => {
      await until('it ends', () => printed.code !== undefined);
      expect([printed.code !== 0, printed.text.includes('key_invalid')], [true, true], `refused: ${printed.text}`);
    });
    await withFile(command, name, { ...env, COMPANION_KEY: '' }, async (printed) => {
      await until('it ends', () => printed.code !== undefined);
      expect([printed.code !== 0, printed.text.includes('COMPANION_KEY')], [true, true], `no key: ${printed.text}`);
    });
  } finally {
    await service.remove();
  }
}

async function the_plain_file_for_fetch_reports_a_sample_world() {
  await reportsASampleWorld(process.execPath, 'plain.mjs');
}

async function the_plain_file_for_curl_reports_a_sample_world() {
  await reportsASampleWorld('sh', 'plain.sh');
}

await main([the_plain_file_for_fetch_reports_a_sample_world, the_plain_file_for_curl_reports_a_sample_world]);
