/**
 * The package for discord.js: installation, options, log, life cycle and types.
 *
 *     COMPANION_BIN=target/debug/companion node docs/kits/tests/test-package-js.mjs
 */

import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { output } from './demo.mjs';
import { KEY, expect, freePort, main, until, withRecordingServer } from './harness.mjs';
import { folder, load } from './modules.mjs';
import { Client, Companion, CompanionError, QUIET, withRig } from './rig.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const installed = join(folder, 'node_modules', 'companion-discord');
const [, VERSION] = /^version = "(.*)"$/m.exec(readFileSync(here('../../../Cargo.toml'), 'utf8'));

async function the_installed_package_has_the_version_of_the_workspace() {
  expect(load('companion-discord/package.json').version, VERSION, 'the version');
  const files = ['package.json', 'index.mjs', 'index.d.ts', 'index.d.mts', 'README.md'];
  const modules = readdirSync(here('../javascript/lib')).map((name) => join('lib', name));
  const stale = [...files, ...modules].filter((name) => {
    return readFileSync(join(installed, name), 'utf8') !== readFileSync(here(`../javascript/${name}`), 'utf8');
  });
  expect(stale, [], 'files that differ from the sources');
}

async function import_and_require_give_the_same_classes() {
  const imported = await import(pathToFileURL(join(installed, 'index.mjs')));
  const required = load('companion-discord');
  expect(Object.keys(imported).sort(), Object.keys(required).sort(), 'names');
  // discord.js has types of its own for each, which are different types: so the declarations are there twice.
  const declared = ['index.d.ts', 'index.d.mts'].map((name) => readFileSync(join(installed, name), 'utf8'));
  expect(declared[0] === declared[1], true, 'the declarations are the same');
  expect([imported.Companion === required.Companion, imported.CompanionError === CompanionError], [true, true], 'same');
}

async function requests_name_the_kit_and_its_version() {
  await withRig(2, { shards: 1 }, async (it) => {
    await withRecordingServer(
      () => undefined,
      async (url, received) => {
        it.connect({ url });
        await it.ready();
        await it.client.destroy();
        const sent = new Set(received.map(({ headers }) => `${headers['user-agent']} ${headers.authorization}`));
        expect([...sent], [`companion-discord-js/${VERSION} Bearer ${KEY}`], 'agents and keys');
      },
    );
  });
}

async function wrong_options_are_refused_with_their_fix() {
  const client = new Client({ intents: ['Guilds'] });
  const blind = new Client({ intents: [] });
  const url = 'http://127.0.0.1:8081';
  const guild = () => ({});
  for (const [of, options, said] of [
    [client, undefined, 'options are missing: pass { url:'],
    [client, { key: KEY }, 'url is missing: pass the address of the management API'],
    [client, { url: '', key: KEY }, 'url is empty: pass the address of the management API'],
    [client, { url: 8081, key: KEY }, 'url must be a string, not number'],
    [client, { url: '127.0.0.1:8081', key: KEY }, 'url must begin with http:// or https://'],
    [client, { url: KEY, key: url }, 'url must begin with http:// or https://'],
    [client, { url: `${url}\n`, key: KEY }, 'url contains a space or a line break'],
    [client, { url: ` ${url}`, key: KEY }, 'url contains a space or a line break'],
    [client, { url: 'http://', key: KEY }, 'url needs a host'],
    [client, { url: 'http://host:80800', key: KEY }, 'url needs a host and, behind a colon, a port from 1 to 65535'],
    [client, { url: `http://${KEY}:x@host`, key: KEY }, 'url must have no user name'],
    [client, { url }, 'key is missing: pass a key of the management API'],
    [client, { url, key: null }, 'key is missing: pass a key of the management API'],
    [client, { url, key: '' }, 'key is empty: pass a key of the management API'],
    [client, { url, key: `${KEY}\n` }, 'key contains a space, a line break'],
    [client, { url, key: `${KEY} x` }, 'key contains a space, a line break'],
    [client, { url, key: `${KEY}ä` }, 'key contains a space, a line break or a character outside ASCII'],
    [client, { url, key: Buffer.from(KEY) }, 'key must be a string, not object'],
    [client, { url, key: KEY, cluster: 'eu west' }, 'cluster must be 1 to 64'],
    [client, { url, key: KEY, guild, guilds: guild }, 'guild and guilds exclude each other'],
    [client, { url, key: KEY, guild: {} }, 'guild must be a function'],
    [client, { url, key: KEY, settings: { key: 'log' } }, 'settings must be an array of sections'],
    [client, { url, key: KEY, settings: [{ key: 'log', fields: [{}] }] }, 'settings must be an array of sections'],
    [client, { url, key: KEY, flush_after: 1 }, 'flush_after is no option'],
    [client, { url, key: KEY, flushAfter: '2s' }, 'flushAfter must be a number'],
    [client, { url, key: KEY, log: { warn() {} } }, 'log must have the functions warn and info'],
    ['a token', { url, key: KEY }, 'client must be a Client of discord.js'],
    [blind, { url, key: KEY }, 'client lacks the intent Guilds'],
  ]) {
    let error;
    try {
      new Companion(of, options);
    } catch (caught) {
      error = caught;
    }
    expect(error instanceof TypeError && error.message.startsWith(said), true, `${said}, but was ${error}`);
    expect(error.message.includes(KEY), false, `the key in ${error}`);
  }
  expect(listeners(client), 0, 'listeners of refused kits');
  new Companion(client, { url, key: KEY, cluster: undefined, flushAfter: undefined, log: undefined });
  await client.destroy();
}

async function an_unreachable_service_is_named_with_the_reason() {
  await withRig(2, { shards: 1 }, async (it) => {
    const port = await freePort();
    it.connect({ url: `http://127.0.0.1:${port}` });
    await until('the kit has noticed', () => it.errors.length > 0);
    const [{ message }] = it.errors;
    expect(message, `unreachable: cannot reach 127.0.0.1:${port}: connection refused`, 'the error');
  });
}

async function the_address_of_another_api_is_named_as_the_cause() {
  await withRig(2, { shards: 1 }, async (it) => {
    it.connect({ url: it.service.public });
    await until('the kit has noticed', () => it.errors.length > 0);
    const [{ word, message }] = it.errors;
    expect(word, 'not_found', "the error's word");
    expect(message.includes('Check that url is the address of the management API'), true, message);
  });
}

async function errors_and_the_end_of_an_outage_go_to_the_log() {
  await withRig(4, {}, async (it) => {
    const messages = [];
    const log = { warn: (text) => messages.push(`warn ${text}`), info: (text) => messages.push(`info ${text}`) };
    it.connect({ log });
    await it.ready();
    expect(messages, [], 'messages without an outage');
    await it.service.end();
    await until('the kit has noticed', () => it.kit.stats.failures >= 2);
    await it.service.start();
    await until('it is connected again', () => messages.at(-1).startsWith('info '));
    await it.settled();
    const host = new URL(it.service.management).host;
    const last = messages.pop();
    const before = new Set(messages.map((text) => text.slice(0, text.lastIndexOf(':'))));
    expect([...before], [`warn companion: unreachable: cannot reach ${host}`], 'before');
    expect(last.startsWith(`info companion: connected again to ${host} after `), true, last);
  });
}

async function stopping_detaches_the_client_and_keeps_it_running() {
  await withRig(4, {}, async (it) => {
    it.connect();
    await it.ready();
    expect(listeners(it.client) > 0 && Object.hasOwn(it.client, 'destroy'), true, 'it is attached');
    await it.kit.stop();
    expect(listeners(it.client), 0, 'listeners');
    expect(Object.hasOwn(it.client, 'destroy'), false, 'a wrapped destroy');
    const { requests } = it.kit.stats;
    it.gateway.rename([...it.gateway.guilds.values()][0]);
    await until('the bot has seen it', () => it.botIsUpToDate());
    expect([it.kit.pending, it.kit.stats.requests], [0, requests], 'marks and requests afterwards');
    const options = { url: it.service.management, key: KEY, guild: it.facts, flushAfter: 100, log: QUIET };
    it.kit = new Companion(it.client, options);
    await it.ready();
    expect(await it.differences(), [], 'with a second kit');
  });
}

async function stopping_leaves_a_destroy_that_was_wrapped_later() {
  const client = new Client({ intents: ['Guilds'] });
  const kit = new Companion(client, { url: 'http://127.0.0.1:9', key: KEY });
  const wrapped = client.destroy;
  let destroyed = 0;
  const destroy = async () => {
    destroyed += 1;
    await wrapped();
  };
  client.destroy = destroy;
  await kit.stop();
  expect(client.destroy === destroy, true, 'the later wrapper is still there');
  await client.destroy();
  expect(destroyed, 1, 'destroyed through both');
}

async function stopping_aborts_requests_in_flight() {
  const sockets = new Set();
  const silent = createServer((socket) => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
    socket.resume();
  });
  await new Promise((done) => silent.listen(0, '127.0.0.1', done));
  await withRig(2, { shards: 1 }, async (it) => {
    it.connect({ url: `http://127.0.0.1:${silent.address().port}`, stopWithin: 200 });
    await until('requests are in flight', () => sockets.size >= 2);
    await it.kit.stop();
    await until('their connections are closed', () => sockets.size === 0);
    expect(it.errors, [], 'errors');
  });
  silent.close();
}

async function the_first_heartbeat_has_all_shards() {
  await withRig(4, { shards: 3 }, async (it) => {
    await withRecordingServer(
      () => undefined,
      async (url, received) => {
        it.gateway.muted.add(1);
        it.connect({ url });
        await it.ready();
        const acknowledged = (shard) => it.client.ws.shards.get(shard).ping >= 0;
        await until('the other shards are acknowledged', () => acknowledged(0) && acknowledged(2));
        await until('another sync came', () => it.kit.guildChanged(it.client.guilds.cache) ?? it.kit.flush());
        const heartbeats = () => received.filter(({ method }) => method === 'PUT');
        expect(heartbeats(), [], 'heartbeats before the last shard is acknowledged');
        it.gateway.unmute(1);
        await until('a heartbeat came', () => heartbeats().length > 0);
        const { shards } = JSON.parse(heartbeats()[0].body);
        expect(Object.keys(shards), ['0', '1', '2'], 'shards of the first heartbeat');
        await it.client.destroy();
      },
    );
  });
}

async function facts_of_many_guilds_come_in_one_call() {
  await withRig(12, {}, async (it) => {
    const calls = [];
    const facts = async (guilds) => {
      calls.push(guilds.map(({ id }) => id).sort());
      return new Map(guilds.filter(({ id }) => isBound(id)).map((guild) => [guild.id, it.facts(guild)]));
    };
    const all = [...it.gateway.guilds.values()];
    const unbound = all.filter(({ bound }) => !Object.keys(bound).length);
    const isBound = (id) => !unbound.some((guild) => guild.id === id);
    it.connect({ guild: undefined, guilds: facts });
    await it.ready();
    const shards = [0, 1].map((shard) => all.map(({ id }) => id).filter((id) => it.gateway.shardOf(id) === shard));
    const counts = (lists) => lists.map(({ length }) => length).sort();
    expect(counts(calls), counts(shards), 'one call for each shard');
    let stored = await it.service.stored();
    expect(new Set(unbound.map(({ id }) => stored.get(`guild ${id}`).linked)), new Set([false]), 'absent guilds');

    calls.length = 0;
    const changed = all.filter(({ id }) => isBound(id)).slice(0, 5);
    for (const guild of changed) guild.bound = { ERLC_STAFF: [...guild.roles].slice(0, 2).sort() };
    const [first, second, third, ...others] = changed.map(({ id }) => id);
    const asMap = new Map([[third, it.client.guilds.cache.get(third)]]);
    it.kit.guildChanged(it.client.guilds.cache.get(first), second, asMap, others);
    await it.settled();
    expect(calls, [changed.map(({ id }) => id).sort()], 'one call for all that changed');
    stored = await it.service.stored();
    const found = changed.map(({ id }) => stored.get(`guild ${id}`).roles);
    expect(
      found,
      changed.map(({ bound }) => bound),
      'roles',
    );
  });
}

async function a_kit_created_during_the_login_removes_nothing() {
  await withRig(6, {}, async (it) => {
    it.connect();
    await it.ready();
    await it.client.destroy();
    expect(await it.differences(), [], 'before');
    const [away] = it.gateway.guilds.values();
    away.unavailable = true; // keeps its shard from being ready for a second and a half
    it.client = it.newClient({ waitGuildTimeout: 1_500 });
    const login = it.client.login('a-token');
    const known = () => it.client.guilds.cache.filter(({ ownerId }) => ownerId).size === 5;
    await until('the other guilds are in the cache', known);
    expect(it.client.isReady(), false, 'the bot is ready');
    const options = { url: it.service.management, key: KEY, guild: it.facts, flushAfter: 100, log: QUIET };
    const late = new Companion(it.client, options);
    await login;
    await until('a snapshot is in', () => late.stats.snapshots >= 1);
    await late.flush();
    expect(await it.differences(), [], 'after the snapshots');
  });
}

async function the_types_hold_under_strict_typescript() {
  const work = mkdtempSync(join(tmpdir(), 'companion-types-'));
  try {
    symlinkSync(join(folder, 'node_modules'), join(work, 'node_modules'));
    const uses = ['package-uses.mts', 'package-uses.cts'];
    for (const name of uses) copyFileSync(here(name), join(work, name));
    // Both directions: an option that is not declared, and a declared one that is refused.
    const { OPTIONS } = load(join(installed, 'lib', 'arguments.js'));
    const names = JSON.stringify(Object.fromEntries(OPTIONS.map((name) => [name, true])));
    const declared = `import type { Options } from 'companion-discord';\nexport const x: Record<keyof Options, true> = ${names};\n`;
    writeFileSync(join(work, 'options.mts'), declared);
    const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--noUnusedLocals'];
    const target = ['--noEmit', '--module', 'nodenext', '--target', 'es2022', '--preserveSymlinks'];
    const files = [...uses, 'options.mts'].map((name) => join(work, name));
    const { text } = output(process.execPath, [load.resolve('typescript/bin/tsc'), ...strict, ...target, ...files]);
    // Declarations are checked too, those of other packages as well, whose errors are not ours.
    const ours = text.split('\n').filter((line) => /companion-discord|package-uses|options\.mts|TS5/.test(line));
    expect(ours, [], 'tsc');
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function listeners(client) {
  return ['raw', 'shardReady', 'clientReady'].reduce((sum, event) => sum + client.listenerCount(event), 0);
}

await main([
  the_installed_package_has_the_version_of_the_workspace,
  import_and_require_give_the_same_classes,
  requests_name_the_kit_and_its_version,
  wrong_options_are_refused_with_their_fix,
  an_unreachable_service_is_named_with_the_reason,
  the_address_of_another_api_is_named_as_the_cause,
  errors_and_the_end_of_an_outage_go_to_the_log,
  stopping_detaches_the_client_and_keeps_it_running,
  stopping_leaves_a_destroy_that_was_wrapped_later,
  stopping_aborts_requests_in_flight,
  the_first_heartbeat_has_all_shards,
  facts_of_many_guilds_come_in_one_call,
  a_kit_created_during_the_login_removes_nothing,
  the_types_hold_under_strict_typescript,
]);
