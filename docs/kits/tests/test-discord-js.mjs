/**
 * The discord.js kit, as installed from its tarball, with the real library and the running service.
 *
 *     COMPANION_BIN=target/debug/companion node docs/kits/tests/test-discord-js.mjs
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { BOT } from './fake-gateway.mjs';
import { KEY, expect, main, until, withLossyProxy, withRecordingServer } from './harness.mjs';
import { folder } from './modules.mjs';
import { Companion, QUIET, guildRecord, ordered, version, withRig } from './rig.mjs';

async function same_world_on_both_sides_after_churn_and_restarts() {
  await withRig(1000, { shards: 4, large: 20 }, async (it) => {
    const began = Date.now();
    it.connect();
    await it.ready();
    expect(await it.differences(), [], 'after the first snapshots');
    const first = it.kit.stats.bytes;

    const before = it.gateway.events;
    const churn = it.gateway.churn(2500);
    await until('the churn is under way', () => it.gateway.events > before + 1200);
    await it.service.end('SIGKILL');
    await churn;
    await until('the kit has noticed', () => it.kit.stats.failures >= 2);
    it.gateway.askToReconnect(0);
    it.gateway.endSession(1);
    await it.gateway.churn(1500); // shard 0 hears of it when it resumes; shard 1 never does
    await it.service.start();
    await it.gateway.churn(500);
    // What became of a guild before it was unavailable, and nobody was told, shows when it is back.
    for (const guild of it.gateway.guilds.values()) {
      if (guild.unavailable && it.gateway.shardOf(guild.id) === 1) it.gateway.makeAvailable(guild);
    }
    await it.settled();

    const different = await it.differences();
    const { requests, snapshots, heartbeats, failures, lines, bytes } = it.kit.stats;
    console.log(
      `  ${it.gateway.guilds.size} guilds, ${it.gateway.events} events, ${requests} requests ` +
        `(${snapshots} snapshots, ${heartbeats} heartbeats, ${failures} failed), ${lines} lines, ` +
        `${bytes} bytes (${first} for the first snapshots), ${different.length} differences, ${((Date.now() - began) / 1000).toFixed(1)} s`,
    );
    expect(different, [], 'in the end');
  });
}

async function unavailable_guilds_stay_and_guilds_left_while_away_go() {
  await withRig(20, {}, async (it) => {
    const away = it.gateway.newGuild();
    let gone = it.gateway.newGuild();
    while (it.gateway.shardOf(gone.id) !== it.gateway.shardOf(away.id)) gone = it.gateway.newGuild();
    await it.service.sync(guildRecord(away), guildRecord(gone));
    away.unavailable = true;
    it.gateway.guilds.set(away.id, away);
    it.connect();
    await it.ready();
    const stored = await it.service.stored();
    expect(stored.has(`guild ${away.id}`) && stored.has(`guild ${gone.id}`), true, 'nothing is removed yet');

    it.gateway.makeAvailable(away);
    await it.settled();
    expect(await it.differences(), [], 'once every guild is known');

    it.gateway.makeUnavailable(away);
    const snapshots = it.kit.stats.snapshots;
    it.gateway.endSession(it.gateway.shardOf(away.id));
    await until('a snapshot follows the new session', () => it.kit.stats.snapshots > snapshots);
    await it.settled();
    expect(await it.differences(), [], 'while it is unavailable');
  });
}

async function heartbeats_have_times_and_latency_of_acknowledged_shards() {
  await withRig(8, { shards: 3 }, async (it) => {
    it.gateway.muted.add(2);
    it.connect({ firstHeartbeatWithin: 3_000 });
    await it.ready();
    const shards = async () => (await (await fetch(it.service.public)).json()).data.health.bot.shards;
    await until('both shards are shown', async () => Object.keys(await shards()).join() === '0,1');
    for (const shard of Object.values(await shards())) {
      expect(Math.abs(shard.heartbeatSent - Date.now() / 1000) < 60, true, 'sent by the wall clock');
      expect(shard.heartbeatAcknowledged >= shard.heartbeatSent, true, 'acknowledged after that');
      expect(shard.latency >= 0 && shard.latency < 10_000, true, 'milliseconds');
    }
    const metrics = await it.service.metrics();
    expect(metrics.includes('companion_bot_shards{state="missing"} 1'), true, 'the third shard is missing');
    await it.kit.stop();
    expect(Object.keys(await shards()), [], 'after the process has signed off');
  });
}

async function a_long_outage_is_followed_by_snapshots() {
  await withRig(20, {}, async (it) => {
    it.connect({ snapshotAfterOutage: 100 });
    await it.ready();
    await it.service.end();
    it.service.forget();
    await until('the kit has noticed', () => it.kit.stats.failures >= 2);
    const snapshots = it.kit.stats.snapshots;
    await it.service.start();
    await until('all is said again', () => it.kit.stats.snapshots >= snapshots + 2);
    await it.settled();
    expect(await it.differences(), [], 'in the end');
  });
}

async function facts_of_the_bot_come_through_callbacks() {
  await withRig(4, {}, async (it) => {
    const [guild] = it.gateway.guilds.values();
    const avatar = 'https://cdn.example/1.png';
    const person = { username: 'owl', name: 'Owl', avatar };
    const staff = [{ user: '11', permissions: ['SUPPORT'] }];
    const place = { role: 'Lead', color: '#1ABC9C', category: 'Development', position: 1 };
    it.connect({
      plus: async () => [{ user: '11', guilds: [guild.id], slots: 3 }],
      staff: () => staff,
      team: () => [{ ...person, discord_id: '12', ...place }],
      feedback: () => [{ id: 'a1', feedback: 'Fine.', rating: 5, timestamp: 1, submitter: { ...person, id: '12' } }],
      blocked: () => ['13'],
    });
    await it.ready();
    let stored = await it.service.stored();
    const kinds = new Set([...stored.keys()].map((key) => key.split(' ')[0]));
    const wanted = ['plus', 'staff', 'team', 'feedback', 'blocked'];
    expect(
      wanted.filter((kind) => !kinds.has(kind)),
      [],
      'kinds that are missing',
    );

    staff.length = 0;
    it.kit.factsChanged('staff');
    guild.setup = !guild.setup;
    guild.bound = { ERLC_STAFF: [...guild.roles].slice(0, 2) };
    it.kit.guildChanged(guild.id);
    await it.settled();
    stored = await it.service.stored();
    expect(stored.has('staff 11'), false, 'what the callback no longer names is gone');
    const wrong = [...it.world()].filter(([key, record]) => ordered(stored.get(key)) !== ordered(record));
    expect(wrong, [], "the guild's facts");
  });
}

async function failing_callbacks_and_hooks_do_not_reach_the_bot() {
  await withRig(10, {}, async (it) => {
    const [wrong, failing] = it.gateway.guilds.keys();
    let broken = true;
    it.connect({
      guild: async (guild) => {
        if (broken && guild.id === failing) throw new Error('no database');
        return broken && guild.id === wrong ? { roles: { JANITOR: ['1'] } } : it.facts(guild);
      },
      onPosted: async () => {
        throw new Error('a broken hook');
      },
    });
    await until('the mistakes are reported', () => it.errors.length >= 3);
    expect(new Set(it.errors.map(({ word }) => word)), new Set(['callback_failed']), "the error's word");
    const guilds = async () => [...(await it.service.stored()).keys()].filter((key) => key.startsWith('guild '));
    await until('the other guilds are there', async () => (await guilds()).length === 8);
    broken = false;
    await it.ready();
    expect(await it.differences(), [], 'once the callbacks work');
  });
}

async function a_guild_that_the_service_refuses_holds_up_no_other() {
  await withRig(10, {}, async (it) => {
    const [refused] = it.gateway.guilds.values();
    const name = refused.name;
    refused.name = 'x'.repeat(300);
    it.connect();
    await it.ready();
    expect(
      it.errors.map(({ word }) => word),
      ['input_invalid'],
      'errors',
    );
    const guilds = [...(await it.service.stored()).keys()].filter((key) => key.startsWith('guild '));
    expect(guilds.length, 9, 'guilds');
    refused.name = name;
    it.gateway.changeIcon(refused);
    await it.settled();
    expect(await it.differences(), [], 'once it is valid');
  });
}

async function retry_after_is_honoured_and_what_failed_is_sent_again() {
  const arrivals = [];
  const refuseFirst = ({ path, at }) => {
    if (!path.includes('sync') || arrivals.push(at) > 1) return undefined;
    return { status: 503, headers: { 'Retry-After': '2' }, data: { error: 'storage_unavailable' } };
  };
  await withRig(5, { shards: 1 }, async (it) => {
    await withRecordingServer(refuseFirst, async (url) => {
      it.connect({ url });
      await it.ready();
      await it.client.destroy();
    });
    const words = it.errors.map(({ word }) => word);
    expect(words, ['storage_unavailable'], 'errors');
    const pause = arrivals[1] - arrivals[0];
    expect(pause >= 1990, true, `the pause, ${pause} ms`);
  });
}

async function changes_reverted_after_a_lost_answer_are_sent() {
  await withRig(8, {}, async (it) => {
    await withLossyProxy(it.service.management, async (url, loses) => {
      it.connect({ url });
      await it.ready();
      const [renamed, member, left] = [...it.gateway.guilds.values()].filter(({ bound }) => bound.MOD);
      const { name } = renamed;
      const roles = member.members.get(BOT);
      const others = new Set([...member.roles].filter((role) => !roles.has(role)));
      loses.add('POST').add('DELETE');
      it.gateway.rename(renamed);
      it.gateway.setRoles(member, BOT, others);
      await until('the answer is lost', () => it.errors.length > 0);
      it.gateway.rename(renamed, name);
      it.gateway.setRoles(member, BOT, roles);
      it.gateway.leave(left);
      const answers = it.errors.length;
      await until('the answer to a removal is lost', () => it.errors.length > answers);
      it.gateway.join(left);
      await until('the bot has seen it', () => it.botIsUpToDate());
      loses.clear();
      await it.settled();
      expect(await it.differences(), [], 'in the end');
      await it.client.destroy();
    });
  });
}

async function a_burst_is_a_few_requests_and_its_queue_is_bounded() {
  await withRig(50, {}, async (it) => {
    it.connect({ maxMembers: 10, flushAfter: 1000 });
    await it.ready();
    const sent = () => it.kit.stats.requests - it.kit.stats.heartbeats;
    const before = sent();
    let longest = 0;
    for (let number = 0; number < 200; number += 1) {
      it.gateway.changeRoles(it.gateway.pick([...it.gateway.guilds.values()]));
      if (number % 10 === 0) await until('it is handled', () => it.botIsUpToDate());
      longest = Math.max(longest, it.kit.pending);
    }
    await it.settled();
    expect(longest > 0 && longest <= 60, true, `ten members and fifty guilds pending at most, ${longest}`);
    expect(sent() - before <= 5, true, `requests for 200 events, ${sent() - before}`);
    expect(await it.differences(), [], 'in the end');
  });
}

async function destroying_the_client_sends_the_last_change_and_ends() {
  await withRig(5, {}, async (it) => {
    it.connect({ flushAfter: 60_000 });
    await it.login;
    await until('the bot is ready', () => it.client.isReady());
    await it.settled();
    const [guild] = it.gateway.guilds.values();
    it.gateway.rename(guild);
    await until('the bot has seen it', () => it.botIsUpToDate());
    const began = Date.now();
    await it.client.destroy();
    expect(Date.now() - began < 5_000, true, 'it does not hold the bot up');
    expect(await it.differences(), [], 'the last change');
    const { requests } = it.kit.stats;
    it.kit.guildChanged(guild.id);
    expect(await it.kit.flush(200), false, 'nothing is sent any more');
    expect(it.kit.stats.requests, requests, 'requests after the end');
  });
}

async function a_kit_created_while_the_bot_runs_catches_up() {
  await withRig(6, {}, async (it) => {
    it.connect({ url: 'http://127.0.0.1:9' }); // nobody is there
    await it.login;
    await until('the bot is ready', () => it.client.isReady());
    const late = new Companion(it.client, {
      url: it.service.management,
      key: KEY,
      guild: it.facts,
      flushAfter: 100,
      log: QUIET,
    });
    await until('its snapshots are in', () => late.stats.snapshots >= it.gateway.shards);
    expect(await it.differences(), [], 'what was there before');
    const [guild] = it.gateway.guilds.values();
    it.gateway.rename(guild);
    await until('the bot has seen it', () => it.botIsUpToDate());
    await late.flush();
    expect(await it.differences(), [], 'what happened afterwards');
  });
}

async function the_lines_of_the_page_connect_a_bot() {
  const page = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const lines = page.split('```js\n')[1].split('```')[0];
  expect(lines.split('\n').filter((line) => line.trim()).length <= 10, true, 'ten lines');
  await withRig(6, { shards: 1 }, async (it) => {
    for (const guild of it.gateway.guilds.values()) {
      const [role] = guild.roles;
      Object.assign(guild, { setup: true, bound: { MOD: [role] } });
    }
    const work = mkdtempSync(join(tmpdir(), 'companion-lines-'));
    symlinkSync(join(folder, 'node_modules'), join(work, 'node_modules'));
    const api = `http://127.0.0.1:${it.gateway.port}/api`;
    const before = `import { DefaultRestOptions } from 'discord.js';\nDefaultRestOptions.api = '${api}';\n`;
    writeFileSync(join(work, 'bot.mjs'), before + lines.replace('http://127.0.0.1:8081', it.service.management));
    const env = { ...process.env, COMPANION_KEY: KEY, TOKEN: 'a-token' };
    const bot = spawn(process.execPath, [join(work, 'bot.mjs')], { env, stdio: 'ignore' });
    try {
      await until('the world is there', async () => (await it.differences()).length === 0);
    } finally {
      bot.kill('SIGKILL');
      rmSync(work, { recursive: true, force: true });
    }
  });
}

console.log(`discord.js ${version}`);
await main([
  same_world_on_both_sides_after_churn_and_restarts,
  unavailable_guilds_stay_and_guilds_left_while_away_go,
  heartbeats_have_times_and_latency_of_acknowledged_shards,
  a_long_outage_is_followed_by_snapshots,
  facts_of_the_bot_come_through_callbacks,
  failing_callbacks_and_hooks_do_not_reach_the_bot,
  a_guild_that_the_service_refuses_holds_up_no_other,
  retry_after_is_honoured_and_what_failed_is_sent_again,
  changes_reverted_after_a_lost_answer_are_sent,
  a_burst_is_a_few_requests_and_its_queue_is_bounded,
  destroying_the_client_sends_the_last_change_and_ends,
  a_kit_created_while_the_bot_runs_catches_up,
  the_lines_of_the_page_connect_a_bot,
]);
