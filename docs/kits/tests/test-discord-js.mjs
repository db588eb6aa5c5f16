/**
 * The discord.js kit, with the real library, between a gateway on loopback and the running service.
 *
 *     COMPANION_BIN=target/debug/companion node docs/kits/tests/test-discord-js.mjs
 */

import { spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Companion } from '../companion-discord-js.mjs';
import { FakeGateway } from './fake-gateway.mjs';
import { KEY, Service, expect, main, until } from './harness.mjs';
import { folder, load } from './modules.mjs';

const { Client, GatewayIntentBits, version } = load('discord.js');
const INTENTS = [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMembers, GatewayIntentBits.GuildPresences];
/** @type {string[]} What the kit let through to the bot. */
const stray = [];
process.on('unhandledRejection', (error) => stray.push(String(error)));
process.on('uncaughtException', (error) => stray.push(String(error)));

/** A gateway, a bot with the kit, and the service. */
class Rig {
  posted = [];
  errors = [];

  static async make(guilds, { shards = 2, large = 0 } = {}) {
    const rig = new Rig();
    rig.gateway = new FakeGateway(shards);
    for (let number = 0; number < guilds; number += 1) {
      const isLarge = number < large;
      const guild = rig.gateway.newGuild({ members: isLarge ? 8 : 5, large: isLarge });
      rig.gateway.guilds.set(guild.id, guild);
    }
    await rig.gateway.start();
    rig.service = await Service.start();
    return rig;
  }

  facts = (guild) => {
    const known = this.gateway.guilds.get(guild.id);
    return known ? { setup: known.setup, linked: !known.setup, roles: known.bound } : {};
  };

  connect(options = {}) {
    this.client = new Client({
      intents: INTENTS,
      shards: 'auto',
      waitGuildTimeout: 300,
      // The platform wants five seconds between two shards, and ours does not.
      ws: { buildIdentifyThrottler: async () => ({ waitForIdentify: async () => {} }) },
      rest: { api: `http://127.0.0.1:${this.gateway.port}/api` },
    });
    this.kit = new Companion(this.client, {
      url: this.service.management,
      key: KEY,
      guild: this.facts,
      onPosted: (posted) => this.posted.push(posted),
      onError: (error) => this.errors.push(error),
      flushAfter: 200,
      countsEvery: 500,
      heartbeatEvery: 500,
      ...options,
    });
    this.login = this.client.login('a-token');
  }

  async ready() {
    await this.login;
    await until('the bot is ready', () => this.client.isReady());
    await until('the first snapshots are in', () => this.kit.stats.snapshots >= this.gateway.shards);
    await this.settled();
  }

  /** Waits until the bot has seen what happened, and the service was told. */
  async settled() {
    await until('the bot has seen everything', () => this.botIsUpToDate());
    await until('the kit has sent everything', () => this.kit.flush());
  }

  /** Whether every event has reached the library's cache. */
  botIsUpToDate() {
    for (let shard = 0; shard < this.gateway.shards; shard += 1) {
      if (this.client.ws.shards.get(shard)?.sessionInfo?.sequence !== this.gateway.lastSequence(shard)) return false;
    }
    return [...this.gateway.guilds.values()].every((expected) => {
      const guild = this.client.guilds.cache.get(expected.id);
      if (!guild || guild.available === expected.unavailable) return false;
      return expected.unavailable || (guild.name === expected.name && this.#sameMembers(guild, expected));
    });
  }

  #sameMembers(guild, expected) {
    if (guild.memberCount !== expected.members.size || guild.ownerId !== expected.owner) return false;
    if (expected.large && !Object.keys(expected.bound).length) return true; // nobody asks for them
    return [...expected.members].every(([id, roles]) => {
      const shown = guild.members.cache.get(id)?.roles.cache;
      return shown && shown.size === roles.size + 1 && [...roles].every((role) => shown.has(role));
    });
  }

  /** What the service should hold, by the gateway's own model. */
  world() {
    const world = new Map();
    for (const guild of this.gateway.guilds.values()) {
      world.set(`guild ${guild.id}`, guildRecord(guild));
      const bound = Object.values(guild.bound).flat();
      for (const [user, roles] of guild.members) {
        const mine = bound.filter((role) => roles.has(role)).sort();
        if (mine.length)
          world.set(`member ${guild.id} ${user}`, { kind: 'member', guild: guild.id, user, roles: mine });
      }
    }
    return world;
  }

  async differences() {
    const [stored, world] = [await this.service.stored(), this.world()];
    return [...new Set([...stored.keys(), ...world.keys()])]
      .filter((key) => ordered(stored.get(key)) !== ordered(world.get(key)))
      .map((key) => `${key}: stored ${ordered(stored.get(key))}, expected ${ordered(world.get(key))}`);
  }

  async close() {
    await this.client?.destroy();
    await this.service.remove();
    this.gateway.stop();
  }
}

/** Runs a test with a rig of its own. */
async function withRig(guilds, options, test) {
  const rig = await Rig.make(guilds, options);
  try {
    await test(rig);
    expect(stray, [], 'exceptions in the bot');
  } finally {
    await rig.close();
  }
}

function guildRecord(guild) {
  const icon = guild.icon && `https://cdn.discordapp.com/icons/${guild.id}/${guild.icon}.png?size=1024`;
  const { id, name, owner, setup, bound: roles } = guild;
  return { kind: 'guild', id, name, icon, members: guild.members.size, owner, setup, linked: !setup, roles };
}

/** A record as text, whatever the order of its fields. */
function ordered(record) {
  return JSON.stringify(record, (_, value) =>
    value && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

async function both_sides_hold_the_same_world_after_churn_restarts_and_reconnects() {
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

async function an_unavailable_guild_is_not_removed_and_one_left_while_away_is() {
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

async function heartbeats_have_times_and_latency_of_acknowledged_shards_only() {
  await withRig(8, { shards: 3 }, async (it) => {
    it.gateway.muted.add(2);
    it.connect();
    await it.ready();
    const shards = async () => (await (await fetch(it.service.public)).json()).data.health.bot.shards;
    await until('both shards are shown', async () => Object.keys(await shards()).join() === '0,1');
    for (const shard of Object.values(await shards())) {
      expect(Math.abs(shard.heartbeatSent - Date.now() / 1000) < 60, true, 'sent by the wall clock');
      expect(shard.heartbeatAcknowledged >= shard.heartbeatSent, true, 'acknowledged after that');
      expect(shard.latency >= 0 && shard.latency < 10_000, true, 'milliseconds');
    }
  });
}

async function a_service_that_lost_its_data_gets_a_snapshot_after_a_long_outage() {
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

async function nothing_reaches_the_bot_when_callbacks_and_hooks_fail() {
  await withRig(10, {}, async (it) => {
    const [wrong, failing] = it.gateway.guilds.keys();
    let broken = true;
    const warn = console.warn;
    console.warn = () => {};
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
    console.warn = warn;
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
  await withRig(5, { shards: 1 }, async (it) => {
    const arrivals = [];
    const server = createServer((request, response) => {
      request.resume().on('end', () => {
        if (request.url.includes('sync')) arrivals.push(Date.now());
        const isRefused = request.url.includes('sync') && arrivals.length === 1;
        response.writeHead(isRefused ? 503 : 200, isRefused ? { 'Retry-After': '2' } : {});
        const data = isRefused ? { error: 'storage_unavailable' } : { added: 5, changed: 0, removed: 0 };
        response.end(JSON.stringify({ code: isRefused ? 503 : 200, message: 'Busy.', data }));
      });
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    it.connect({ url: `http://127.0.0.1:${server.address().port}` });
    await it.ready();
    await it.client.destroy();
    server.closeAllConnections();
    server.close();
    expect(
      it.errors.map(({ word }) => word),
      ['storage_unavailable'],
      'errors',
    );
    const pause = arrivals[1] - arrivals[0];
    expect(pause >= 1990, true, `the pause, ${pause} ms`);
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

async function a_kit_that_is_made_while_the_bot_runs_catches_up() {
  await withRig(6, {}, async (it) => {
    it.connect({ url: 'http://127.0.0.1:9' }); // nobody is there
    await it.login;
    await until('the bot is ready', () => it.client.isReady());
    const late = new Companion(it.client, { url: it.service.management, key: KEY, guild: it.facts, flushAfter: 100 });
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
    copyFileSync(new URL('../companion-discord-js.mjs', import.meta.url), join(work, 'companion-discord-js.mjs'));
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
  both_sides_hold_the_same_world_after_churn_restarts_and_reconnects,
  an_unavailable_guild_is_not_removed_and_one_left_while_away_is,
  heartbeats_have_times_and_latency_of_acknowledged_shards_only,
  a_service_that_lost_its_data_gets_a_snapshot_after_a_long_outage,
  facts_of_the_bot_come_through_callbacks,
  nothing_reaches_the_bot_when_callbacks_and_hooks_fail,
  a_guild_that_the_service_refuses_holds_up_no_other,
  retry_after_is_honoured_and_what_failed_is_sent_again,
  a_burst_is_a_few_requests_and_its_queue_is_bounded,
  destroying_the_client_sends_the_last_change_and_ends,
  a_kit_that_is_made_while_the_bot_runs_catches_up,
  the_lines_of_the_page_connect_a_bot,
]);
