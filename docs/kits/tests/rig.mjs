/** A bot of the real discord.js with the kit, between a gateway on loopback and the running service. */

import { FakeGateway, roleLabel } from './fake-gateway.mjs';
import { KEY, Service, expect, until } from './harness.mjs';
import { installKit, load } from './modules.mjs';

installKit();
export const { Client, GatewayIntentBits, version } = load('discord.js');
export const { Companion, CompanionError, SettingsProblem } = load('companion-discord');
const INTENTS = [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMembers, GatewayIntentBits.GuildPresences];
export const QUIET = { warn() {}, info() {} };
/** @type {string[]} What the kit let through to the bot. */
const stray = [];
process.on('unhandledRejection', (error) => stray.push(String(error)));
process.on('uncaughtException', (error) => stray.push(String(error)));

/** A gateway, a bot with the kit, and the service. */
export class Rig {
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

  newClient(options = {}) {
    return new Client({
      intents: INTENTS,
      shards: 'auto',
      waitGuildTimeout: 300,
      // The platform wants five seconds between two shards, and ours does not.
      ws: { buildIdentifyThrottler: async () => ({ waitForIdentify: async () => {} }) },
      rest: { api: `http://127.0.0.1:${this.gateway.port}/api` },
      ...options,
    });
  }

  connect(options = {}) {
    this.client = this.newClient();
    this.kit = new Companion(this.client, {
      url: this.service.management,
      key: KEY,
      guild: this.facts,
      onPosted: (posted) => this.posted.push(posted),
      onError: (error) => this.errors.push(error),
      log: QUIET,
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
export async function withRig(guilds, options, test) {
  const rig = await Rig.make(guilds, options);
  try {
    await test(rig);
    expect(stray, [], 'exceptions in the bot');
  } finally {
    await rig.close();
  }
}

export function guildRecord(guild) {
  const icon = guild.icon && `https://cdn.discordapp.com/icons/${guild.id}/${guild.icon}.png?size=1024`;
  const { id, name, owner, setup, bound: roles } = guild;
  return { kind: 'guild', id, name, icon, members: guild.members.size, owner, setup, linked: !setup, roles };
}

export function outlineRecord(guild) {
  const kinds = { stage: 'voice', media: 'forum', news: 'announcement' };
  const hex = (color) => (color ? `#${color.toString(16).padStart(6, '0').toUpperCase()}` : null);
  const labels = [...guild.roles].sort().map((id) => [id, ...roleLabel(guild, id)]);
  return {
    kind: 'outline',
    guild: guild.id,
    channels: [...guild.channels].map(([id, [name, type]]) => ({ id, name, kind: kinds[type] ?? type })),
    roles: labels.map(([id, name, color]) => ({ id, name, color: hex(color) })),
  };
}

/** A record as text, whatever the order of its fields. */
export function ordered(record) {
  return JSON.stringify(record, (_, value) =>
    value && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
