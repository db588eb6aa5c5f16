/**
 * Settings and outlines of the kit for discord.js, with the real library and the running service.
 *
 *     COMPANION_BIN=target/debug/companion node docs/kits/tests/test-settings-js.mjs
 */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { CHANNEL_TYPES } from './fake-gateway.mjs';
import { KEY, expect, main, until, withLossyProxy } from './harness.mjs';
import { Companion, QUIET, SettingsProblem, outlineRecord, withRig } from './rig.mjs';

const SETTINGS = [
  {
    key: 'welcome',
    title: 'Welcome',
    permission: 'MANAGE_SERVER',
    fields: [
      { key: 'channel', type: 'channel', title: 'Channel', kinds: ['text'] },
      { key: 'message', type: 'text', title: 'Message', default: 'Hello!' },
    ],
  },
  {
    key: 'log',
    title: 'Log',
    permission: 'ADMIN',
    fields: [{ key: 'events', type: 'text', title: 'Events', default: ['join'], many: { max: 5 } }],
  },
];
const KEYS = new Set(['welcome.channel', 'welcome.message', 'log.events']);
const GUILDS = 100_000;

async function settings_are_in_memory_and_confirmed() {
  await withRig(4, {}, async (it) => {
    const [first, second] = it.gateway.guilds.keys();
    it.connect({ settings: SETTINGS });
    const defaults = { 'welcome.channel': null, 'welcome.message': 'Hello!', 'log.events': ['join'] };
    expect({ ...it.kit.settings(first) }, defaults, 'before anything came');
    await it.ready();
    const { revision, applied } = await change(it, first, { 'welcome.channel': '12', 'welcome.message': 'Hi «ä»' });
    expect([revision, applied], [1, null], 'what the site shows at first');
    await confirmed(it, first, 1);
    const now = { ...defaults, 'welcome.channel': '12', 'welcome.message': 'Hi «ä»' };
    expect({ ...it.kit.settings(it.client.guilds.cache.get(first)) }, now, 'the guild');
    expect({ ...it.kit.settings(second) }, defaults, 'another guild');

    await change(it, first, { 'welcome.message': null });
    await confirmed(it, first, 2);
    const settings = it.kit.settings(first);
    expect(settings['welcome.message'], 'Hello!', 'a value that was reset');
    expect(JSON.parse(JSON.stringify(await settings)), { ...now, 'welcome.message': 'Hello!' }, 'as JSON');
    await it.service.manage('DELETE', `/bot/guilds/${first}/settings`);
    await until('the settings are gone', () => it.kit.settings(first)['welcome.channel'] === null);
    let message;
    try {
      settings['welcome.chanel'];
    } catch (error) {
      ({ message } = error);
    }
    const said = 'welcome.chanel is no setting: there are welcome.channel, welcome.message, log.events';
    expect(message, said, 'an unknown key');
    expect(it.errors, [], 'errors');
  });
}

async function handlers_run_before_the_confirmation() {
  await withRig(2, {}, async (it) => {
    const [guild] = it.gateway.guilds.keys();
    it.connect({ settings: SETTINGS });
    const calls = [];
    const early = [];
    it.kit.onSettings(async (guildId, settings, changed) => {
      const message = settings['welcome.message'];
      calls.push([guildId, message, [...changed].sort()]);
      if ((await shown(it, guild)).applied === calls.length) early.push(message);
      if (message === 'wrong') {
        throw new SettingsProblem({ 'welcome.message': 'It is wrong.', 'welcome.channel': 'It is unset.' });
      }
      if (message === 'broken') throw new Error('no database');
    });
    await it.ready();
    await change(it, guild, { 'welcome.message': 'Hi' });
    await confirmed(it, guild, 1);
    await change(it, guild, { 'welcome.message': 'wrong' });
    await confirmed(it, guild, 2);
    const problems = Object.fromEntries((await shown(it, guild)).problems.map(({ key, message }) => [key, message]));
    expect(problems, { 'welcome.message': 'It is wrong.', 'welcome.channel': 'It is unset.' }, 'problems');
    await change(it, guild, { 'welcome.message': 'broken' });
    await until('the failure is reported', () => it.errors.length > 0);
    const words = it.errors.map(({ word }) => word);
    expect(words, ['callback_failed'], 'errors');
    expect((await shown(it, guild)).applied, 2, 'the last revision in force');
    expect(it.kit.settings(guild)['welcome.message'], 'broken', 'the value in memory');
    await change(it, guild, { 'welcome.message': 'fine' });
    await confirmed(it, guild, 4);
    expect((await shown(it, guild)).problems, [], 'problems in the end');
    const both = ['welcome.channel', 'welcome.message']; // keys that did not come into force are named again
    const wanted = [
      [guild, 'Hi', ['welcome.message']],
      [guild, 'wrong', ['welcome.message']],
      [guild, 'broken', both],
      [guild, 'fine', both],
    ];
    expect(calls, wanted, 'calls');
    expect(early, [], 'confirmed before the handler returned');
  });
}

async function quick_changes_are_handled_in_turn_and_the_newest_confirmed() {
  await withRig(2, {}, async (it) => {
    const [guild, other] = it.gateway.guilds.keys();
    it.connect({ settings: SETTINGS });
    const calls = [];
    let proceed;
    const released = new Promise((done) => (proceed = done));
    it.kit.onSettings(async (guildId, settings) => {
      calls.push([guildId, settings['welcome.message']]);
      if (guildId === guild) await released;
    });
    await it.ready();
    for (let number = 1; number <= 5; number += 1) {
      await change(it, guild, { 'welcome.message': `number ${number}` });
      await until('a call', () => calls.length > 0);
    }
    await until('all are in memory', () => it.kit.settings(guild)['welcome.message'] === 'number 5');
    await change(it, other, { 'welcome.message': 'other' });
    await confirmed(it, other, 1);
    proceed();
    await confirmed(it, guild, 5);
    const wanted = [
      [guild, 'number 1'],
      [other, 'other'],
      [guild, 'number 5'],
    ];
    expect(calls, wanted, 'calls');
    const sent = it.posted.filter(({ what }) => what === 'settings');
    expect(sent.length, 3, 'requests: the schema, and one confirmation of each guild');
  });
}

async function changes_while_the_bot_was_away_are_handled_at_start() {
  await withRig(3, {}, async (it) => {
    const [first, second, left] = it.gateway.guilds.keys();
    it.connect({ settings: SETTINGS });
    await it.ready();
    for (const guild of it.gateway.guilds.keys()) {
      await change(it, guild, { 'welcome.message': 'before' });
      await confirmed(it, guild, 1);
    }
    await it.client.destroy();
    await change(it, first, { 'welcome.message': 'while away' });
    await change(it, left, { 'welcome.message': 'left' });
    const record = it.gateway.guilds.get(left);
    it.gateway.guilds.delete(left);

    for (const wanted of [[[first, KEYS]], []]) {
      const calls = [];
      it.connect({ settings: SETTINGS });
      it.kit.onSettings((guild, _, changed) => calls.push([guild, changed]));
      await it.ready();
      await confirmed(it, first, 2);
      const values = [first, second].map((guild) => it.kit.settings(guild)['welcome.message']);
      expect(values, ['while away', 'before'], 'values');
      expect(calls, wanted, 'calls');
      if (!wanted.length) {
        it.gateway.join(record);
        await confirmed(it, left, 2);
        expect(calls, [[left, KEYS]], 'a guild that is joined again');
      }
      await it.client.destroy();
    }
  });
}

async function values_stay_in_an_outage_and_changes_follow_it() {
  await withRig(2, {}, async (it) => {
    const [first, second] = it.gateway.guilds.keys();
    it.connect({ settings: SETTINGS });
    await it.ready();
    await change(it, first, { 'welcome.message': 'before' });
    await confirmed(it, first, 1);
    await it.service.end();
    await until('the kit has noticed', () => it.kit.stats.failures >= 2);
    expect(it.kit.settings(first)['welcome.message'], 'before', 'without the service');
    await it.service.start();
    await change(it, second, { 'welcome.message': 'after' });
    await confirmed(it, second, 1);
    const values = [first, second].map((guild) => it.kit.settings(guild)['welcome.message']);
    expect(values, ['before', 'after'], 'once it is back');

    await it.service.end();
    it.service.forget();
    await it.service.start();
    await until('the values of a new database', () => it.kit.settings(first)['welcome.message'] === 'Hello!');
    const { sections } = await it.service.manage('GET', '/bot/settings');
    const keys = sections.map(({ key }) => key);
    expect(keys, ['welcome', 'log'], 'the schema is published again');
  });
}

async function a_confirmation_is_sent_again_after_an_outage() {
  await withRig(2, {}, async (it) => {
    const [guild] = it.gateway.guilds.keys();
    it.connect({ settings: SETTINGS });
    const calls = [];
    it.kit.onSettings(async (_, settings) => {
      calls.push(settings['welcome.message']);
      await it.service.end();
    });
    await it.ready();
    await change(it, guild, { 'welcome.message': 'Hi' });
    await until('the confirmation failed', () => it.kit.stats.failures >= 2);
    await it.service.start();
    await confirmed(it, guild, 1);
    expect(calls, ['Hi'], 'calls');
  });
}

async function a_refused_schema_is_reported_with_every_path() {
  await withRig(2, {}, async (it) => {
    const [guild] = it.gateway.guilds.keys();
    it.connect({ settings: SETTINGS });
    await it.ready();
    await change(it, guild, { 'welcome.message': 'kept' });
    await confirmed(it, guild, 1);
    await it.client.destroy();
    const [welcome] = SETTINGS;
    const wrong = [{ ...welcome, fields: [...welcome.fields, { key: 'x', type: 'colour', title: '' }] }];
    it.connect({ settings: wrong });
    await it.ready();
    await until('it is reported', () => it.errors.length > 0);
    const [{ word, message, fields }, ...others] = it.errors;
    expect([word, others], ['input_invalid', []], 'errors');
    expect(fields.length > 0 && fields.every(({ path }) => message.includes(path)), true, message);
    await until('the values are there', () => it.kit.settings(guild)['welcome.message'] === 'kept');
    const { sections } = await it.service.manage('GET', '/bot/settings');
    const counts = sections.map((section) => section.fields.length);
    expect(counts, [2, 1], 'the schema stays');
  });
}

async function a_process_confirms_guilds_of_its_own_shards() {
  await withRig(6, {}, async (it) => {
    const all = [...it.gateway.guilds.keys()];
    const mine = all.filter((guild) => it.gateway.shardOf(guild) === 1);
    const other = all.find((guild) => !mine.includes(guild));
    it.connect({ settings: SETTINGS });
    await it.ready();
    await it.client.destroy();
    for (const guild of [other, mine[0]]) await change(it, guild, { 'welcome.message': 'while away' });
    it.client = it.newClient({ shards: [1], shardCount: 2 });
    const options = { url: it.service.management, key: KEY, guild: it.facts, flushAfter: 100, log: QUIET };
    const kit = new Companion(it.client, { ...options, settings: SETTINGS });
    await it.client.login('a-token');
    await confirmed(it, mine[0], 1);
    for (const guild of [other, mine[1]]) await change(it, guild, { 'welcome.channel': '12' });
    await confirmed(it, mine[1], 1);
    expect((await shown(it, other)).applied, null, 'the guild of another process');
    expect(kit.settings(other)['welcome.message'], 'Hello!', 'its values');
  });
}

async function outlines_follow_channels_and_roles() {
  await withRig(4, {}, async (it) => {
    const [guild, other] = it.gateway.guilds.values();
    for (const type of Object.keys(CHANNEL_TYPES)) guild.channels.set(it.gateway.newId(), [`a ${type} channel «ä»`, type]);
    it.connect({ settings: SETTINGS });
    await it.ready();
    expect(await outlines(it), wantedOutlines(it), 'at first');

    const sent = () => it.posted.filter(({ what }) => what === 'outlines').reduce((sum, { lines }) => sum + lines, 0);
    expect(sent(), 4, 'outlines that were sent');
    const channels = [...guild.channels.keys()];
    const role = it.gateway.newId();
    for (let number = 0; number < 20; number += 1) it.gateway.nameChannel(guild, channels[0], `name ${number}`);
    it.gateway.deleteChannel(guild, channels.at(-1));
    it.gateway.labelRole(guild, role, 'Harbour master', 0x1abc9c);
    it.gateway.labelRole(guild, role, 'x'.repeat(100), 0x00000f);
    it.gateway.deleteRole(other);
    await it.settled();
    expect(await outlines(it), wantedOutlines(it), 'after changes');
    expect(sent() <= 4 + 6, true, `a burst is a few requests, ${sent()}`);

    const lines = sent();
    it.gateway.nameChannel(guild, channels[0], 'name 19');
    for (const shard of [0, 1]) {
      const { snapshots } = it.kit.stats;
      it.gateway.endSession(shard);
      await until('a snapshot follows the session', () => it.kit.stats.snapshots > snapshots);
    }
    await it.settled();
    expect(sent(), lines, 'equal outlines are not sent again');

    const joined = it.gateway.newGuild();
    joined.channels.set(it.gateway.newId(), ['general', 'text']);
    it.gateway.join(joined);
    it.gateway.leave(other);
    await it.settled();
    expect(await outlines(it), wantedOutlines(it), 'after a guild was joined and another left');
    expect(it.errors, [], 'errors');
  });
}

async function outlines_are_sent_again_after_a_lost_removal() {
  await withRig(2, {}, async (it) => {
    await withLossyProxy(it.service.management, async (url, loses) => {
      it.connect({ url, outlines: true });
      await it.ready();
      const [guild] = it.gateway.guilds.values();
      loses.add('DELETE');
      it.gateway.leave(guild);
      await until('the answer is lost', () => it.errors.length > 0);
      it.gateway.join(guild);
      await until('the bot has seen it', () => it.botIsUpToDate());
      loses.clear();
      await it.settled();
      expect(await outlines(it), wantedOutlines(it), 'in the end');
      await it.client.destroy();
    });
  });
}

async function outlines_are_cut_to_what_the_service_accepts() {
  await withRig(2, {}, async (it) => {
    const [large, wordy] = it.gateway.guilds.values();
    const numbers = Array.from({ length: 510 }, (_, number) => String(number).padStart(3, '0'));
    for (const number of numbers) large.channels.set(it.gateway.newId(), [number + '🎉'.repeat(98), 'text']);
    for (let count = 0; count < 200; count += 1) large.roles.add(it.gateway.newId());
    for (const role of large.roles) large.labels.set(role, ['🎉'.repeat(101), 0]);
    wordy.channels.set(it.gateway.newId(), ['🎉'.repeat(101), 'text']);
    it.connect({ settings: SETTINGS });
    await it.ready();
    const stored = await outlines(it);
    const names = ({ id }) => stored[`outline ${id}`].channels.map(({ name }) => name);
    const wanted = numbers.slice(0, 500).map((number) => number + '🎉'.repeat(22));
    expect(names(large), wanted, 'channels of a large guild');
    expect(names(wordy), ['🎉'.repeat(100)], 'a long name');
    expect(it.errors, [], 'errors');
  });
}

async function outlines_are_sent_only_with_settings() {
  await withRig(2, {}, async (it) => {
    it.connect();
    await it.ready();
    expect(await outlines(it), {}, 'without settings');
    await it.client.destroy();
    it.connect({ outlines: true });
    await it.ready();
    expect(await outlines(it), wantedOutlines(it), 'with the option');
  });
}

async function a_hundred_thousand_guilds_fit() {
  const lines = Array.from({ length: GUILDS }, (_, number) => {
    const values = { 'welcome.channel': String(10n ** 18n + BigInt(number)) };
    Object.assign(values, { 'welcome.message': `Welcome to guild ${number}!`, 'log.events': ['join', 'leave'] });
    return `${JSON.stringify({ guild: String((BigInt(number + 1) << 22n) + 1n), revision: 7, values, applied: null })}\n`;
  });
  const body = Buffer.from(lines.splice(0).join(''));
  const confirmations = [];
  const server = createServer((request, response) => {
    if (request.url.includes('applied')) confirmations.push(request.url);
    if (request.url.startsWith('/bot/changes')) response.write('id: 1\n\n');
    else if (request.url.startsWith('/bot/settings/guilds')) response.end(body);
    else request.resume().on('end', () => response.end('{"code":200,"message":"","data":{}}'));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  await withRig(2, { shards: 1 }, async (it) => {
    const before = memory();
    const began = Date.now();
    it.connect({ url: `http://127.0.0.1:${server.address().port}`, settings: SETTINGS });
    const last = String((BigInt(GUILDS) << 22n) + 1n);
    await until('all are there', () => it.kit.settings(last)['welcome.channel'] !== null);
    const seconds = (Date.now() - began) / 1000;
    const megabytes = (memory() - before) / 1e6;
    console.log(`  ${GUILDS} guilds, ${body.length} bytes: ${seconds.toFixed(1)} s, ${megabytes.toFixed(0)} MB`);
    expect(seconds <= 5, true, `seconds, ${seconds}`);
    expect(megabytes <= 50, true, `megabytes, ${megabytes}`);
    expect(confirmations, [], 'confirmations of guilds without the bot');
    await it.client.destroy();
  });
  server.closeAllConnections();
  server.close();
}

async function the_lines_of_the_page_declare_read_and_handle_settings() {
  const page = readFileSync(new URL('../README.md', import.meta.url), 'utf8').split('## Settings\n')[1];
  const [, lines, handler] = page.split('```js\n').map((block) => block.split('```')[0]);
  expect(lines.split('\n').filter((line) => line.trim()).length <= 10, true, 'ten lines');
  await withRig(2, {}, async (it) => {
    const [guild] = it.gateway.guilds.keys();
    it.client = it.newClient();
    process.env.COMPANION_KEY = KEY;
    const source = lines.replace('http://127.0.0.1:8081', it.service.management) + handler.replace(/^import .*$/m, '');
    const names = ['client', 'Companion', 'SettingsProblem'];
    const kit = new Function(...names, `${source}; return companion;`)(it.client, Companion, SettingsProblem);
    await it.client.login('a-token');
    await until('its snapshots are in', () => kit.stats.snapshots >= it.gateway.shards);
    await change(it, guild, { 'welcome.message': 'Hello {user}!' });
    await confirmed(it, guild, 1);
    expect((await shown(it, guild)).problems, [], 'problems of a value that is in force');
    await change(it, guild, { 'welcome.message': 'Hello!' });
    await confirmed(it, guild, 2);
    const keys = (await shown(it, guild)).problems.map(({ key }) => key);
    expect(keys, ['welcome.message'], 'problems');
  });
}

function change(it, guild, values) {
  return it.service.manage('PATCH', `/bot/guilds/${guild}/settings`, { values });
}

function shown(it, guild) {
  return it.service.manage('GET', `/bot/guilds/${guild}/settings`);
}

async function confirmed(it, guild, revision) {
  // A guild that is not reported yet is not found.
  const applied = async () => (await shown(it, guild).catch(() => ({}))).applied;
  await until(`revision ${revision} is in force`, async () => (await applied()) === revision);
}

async function outlines(it) {
  const stored = [...(await it.service.stored())].filter(([key]) => key.startsWith('outline '));
  return Object.fromEntries(stored);
}

function wantedOutlines(it) {
  return Object.fromEntries([...it.gateway.guilds.values()].map((guild) => [`outline ${guild.id}`, outlineRecord(guild)]));
}

/** Bytes in use after a collection. */
function memory() {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

await main([
  settings_are_in_memory_and_confirmed,
  handlers_run_before_the_confirmation,
  quick_changes_are_handled_in_turn_and_the_newest_confirmed,
  changes_while_the_bot_was_away_are_handled_at_start,
  values_stay_in_an_outage_and_changes_follow_it,
  a_confirmation_is_sent_again_after_an_outage,
  a_refused_schema_is_reported_with_every_path,
  a_process_confirms_guilds_of_its_own_shards,
  outlines_follow_channels_and_roles,
  outlines_are_sent_again_after_a_lost_removal,
  outlines_are_cut_to_what_the_service_accepts,
  outlines_are_sent_only_with_settings,
  a_hundred_thousand_guilds_fit,
  the_lines_of_the_page_declare_read_and_handle_settings,
]);
