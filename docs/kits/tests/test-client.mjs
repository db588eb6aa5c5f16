/**
 * companion.ts: up to date with the document, strictly typed, and run against the service.
 *
 *     COMPANION_BIN=target/debug/companion node docs/kits/tests/test-client.mjs
 */

import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { Demo, output } from './demo.mjs';
import { isUpToDate, withTypes } from './generate-types.mjs';
import { expect, main } from './harness.mjs';
import { folder, load } from './modules.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'companion-client-'));
process.on('exit', () => rmSync(work, { recursive: true, force: true }));

function compile() {
  copyFileSync(here('../companion.ts'), join(work, 'companion.ts'));
  copyFileSync(here('client-uses.ts'), join(work, 'client-uses.ts'));
  writeFileSync(join(work, 'package.json'), '{"type": "module"}');
  const rules = ['--strict', '--noUncheckedIndexedAccess', '--noUnusedLocals', '--noUnusedParameters'];
  const target = [
    '--target',
    'es2022',
    '--module',
    'es2022',
    '--moduleResolution',
    'bundler',
    '--lib',
    'es2023,dom,dom.iterable',
  ];
  const tsc = join(folder, 'node_modules', 'typescript', 'bin', 'tsc');
  const files = ['companion.ts', 'client-uses.ts'].map((name) => join(work, name));
  return output(process.execPath, [tsc, ...rules, ...target, '--outDir', work, ...files]);
}

async function compiled() {
  const { status, text } = compile();
  if (status !== 0) throw new Error(text);
  return import(pathToFileURL(join(work, 'companion.js')).href);
}

async function the_types_are_those_of_the_document() {
  expect(isUpToDate(), true, 'run generate-types.mjs: companion.ts is behind docs/openapi.json; up to date');
}

async function a_document_that_moved_on_is_noticed() {
  const client = readFileSync(here('../companion.ts'), 'utf8');
  const document = JSON.parse(readFileSync(here('../../openapi.json'), 'utf8'));
  document.components.schemas.Guild.properties.banner = { type: 'string' };
  expect(withTypes(client, document) === client, false, 'a new field is the same');
}

async function it_compiles_strictly_and_refuses_what_the_api_refuses() {
  const { status, text } = compile();
  console.log(`  typescript ${load('typescript').version}`);
  expect({ status, text }, { status: 0, text: '' }, 'tsc --strict');
}

async function every_error_word_of_the_documentation_is_in_the_union() {
  const source = readFileSync(here('../companion.ts'), 'utf8');
  const words = ['../../api.md', '../../management.md']
    .flatMap((page) => [...readFileSync(here(page), 'utf8').matchAll(/^\| \d{3} \| `([a-z_]+)` \|/gm)])
    .map(([, word]) => word);
  expect(
    words.filter((word) => !source.includes(`'${word}'`)),
    [],
    'words that are missing',
  );
}

async function it_signs_in_lists_and_feeds_a_running_service() {
  const { CompanionClient, CompanionError } = await compiled();
  const demo = await Demo.start();
  try {
    const client = new CompanionClient({ publicUrl: demo.public, managementUrl: demo.management, key: demo.key });
    const session = await client.call('createSession', { 'Idp-Code': await demo.code('sample_owner') });
    const guilds = await client.call('listGuilds', { Token: session.token });
    expect([session.user.username, guilds.length, guilds[0].role], ['sample_owner', 4, 'Owner'], 'what the owner sees');

    const guild = '190000000000000001';
    const record = { name: 'Hafen «ä»', icon: null, members: 3, owner: '2', setup: true, linked: false, roles: {} };
    expect(await client.call('putGuild', { guild, body: record }), { added: 1, changed: 0, removed: 0 }, 'a guild');
    expect(await client.call('getGuild', { guild }), record, 'the same guild');
    const lines = [
      { kind: 'blocked', user: '5' },
      { kind: 'staff', user: '6', permissions: ['SUPPORT'] },
    ];
    expect((await client.call('sync', { body: lines })).added, 2, 'a sync');
    expect(
      (await client.call('sync', { replace: ['staff', 'blocked'], body: [] })).removed >= 2,
      true,
      'a list in the query',
    );
    const changes = client.changes({ kinds: ['guild', 'feedback'], since: '0' });
    const seen = new Set();
    for await (const { kind, data } of changes) {
      seen.add(kind);
      if (kind === 'reset' || data.id === guild) break;
    }
    expect(seen.has('guild') || seen.has('reset'), true, 'changes from the beginning');
    const stop = new AbortController();
    const later = client.changes({ kinds: ['guild'] }, stop.signal);
    let event;
    const hearing = (async () => {
      while (event === undefined) {
        const { value } = await later.next();
        if (value.data.id === guild) event = value;
      }
    })();
    // Until it is heard of: the stream may begin after a change.
    for (let members = 4; event === undefined; members += 1) {
      await client.call('putGuild', { guild, body: { ...record, members } });
    }
    await hearing;
    expect([event.kind, event.data, typeof event.id], ['guild', { id: guild }, 'string'], 'a change as it comes');
    stop.abort();
    // Changes that came before are still read; then the stream ends.
    while (!(await later.next()).done);
    const refused = await client.changes({ kinds: ['guilds'] }).next().catch((caught) => caught);
    expect(refused.word, 'input_invalid', 'an unknown kind');

    expect((await client.call('getMetrics')).includes('# TYPE'), true, 'metrics are text');
    expect((await client.call('getDocument')).openapi, '3.1.0', 'the document has no envelope');

    const error = await client.call('listGuilds', { Token: 'x' }).catch((caught) => caught);
    expect(
      [CompanionError.is(error, 'token_invalid'), error.status, error.requestId.length > 0],
      [true, 401, true],
      'an error',
    );
    const wrong = await client.call('putGuild', { guild, body: { ...record, members: -1 } }).catch((caught) => caught);
    expect([wrong.word, wrong.fields[0].path], ['input_invalid', 'members'], 'an invalid body');
    const locked = new CompanionClient({ managementUrl: demo.management });
    expect((await locked.call('getGuild', { guild }).catch((caught) => caught)).word, 'key_missing', 'without a key');
  } finally {
    await demo.stop();
  }
}

async function retry_after_is_obeyed_within_bounds() {
  const { CompanionClient } = await compiled();
  const arrivals = [];
  let seconds = '1';
  const server = createServer((_, response) => {
    arrivals.push(Date.now());
    const isRefused = arrivals.length % 2 === 1;
    response.writeHead(isRefused ? 503 : 200, {
      'Content-Type': 'application/json',
      ...(isRefused && { 'Retry-After': seconds }),
    });
    response.end(JSON.stringify({ message: '', data: isRefused ? { error: 'storage_unavailable' } : [] }));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const client = new CompanionClient({ publicUrl: `http://127.0.0.1:${server.address().port}/`, maxWait: 5_000 });
  expect(await client.call('getTeam'), [], 'it is asked again');
  expect(arrivals[1] - arrivals[0] >= 990, true, `the pause, ${arrivals[1] - arrivals[0]} ms`);
  seconds = '60';
  const error = await client.call('getTeam').catch((caught) => caught);
  expect(
    [error.word, error.retryAfter, arrivals.length],
    ['storage_unavailable', 60_000, 3],
    'too long a wait is an error',
  );
  server.closeAllConnections();
  server.close();
  const gone = await client.call('getTeam').catch((caught) => caught);
  expect([gone.word, gone.status], ['unreachable', 0], 'nobody there');
}

await main([
  the_types_are_those_of_the_document,
  a_document_that_moved_on_is_noticed,
  it_compiles_strictly_and_refuses_what_the_api_refuses,
  every_error_word_of_the_documentation_is_in_the_union,
  it_signs_in_lists_and_feeds_a_running_service,
  retry_after_is_obeyed_within_bounds,
]);
