/** The guilds of this process as the library's cache has them. */

'use strict';

const { Reported, guildLine } = require('./records.js');

const GUILD_MEMBERS_INTENT = 1 << 1;

/** Knows which guilds the gateway sessions have named, and reads their current state from the cache. */
class World {
  /** Guild to shard. @type {Map<string, number>} */ guilds = new Map();
  /** Shards with a new session that are not ready yet. @type {Set<number>} */ connecting = new Set();
  /** @type {Set<number>} */ ready = new Set();
  /** Guilds that the service has to remove. @type {Set<string>} */ left = new Set();
  /** Guilds whose members were requested and came. @type {Set<string>} */ loaded = new Set();
  #client;
  #facts;

  constructor(client, facts) {
    this.#client = client;
    this.#facts = facts;
  }

  get shardCount() {
    return this.#client.options.shardCount ?? 1;
  }

  /** All shards of this process, including those that are not connected yet. */
  get shardIds() {
    return [...this.#client.ws.shards.keys()];
  }

  get seesMembers() {
    return this.#client.options.intents.has(GUILD_MEMBERS_INTENT);
  }

  shardOf(guild) {
    return Number((BigInt(guild) >> 22n) % BigInt(this.shardCount));
  }

  guildsOf(shard) {
    return [...this.guilds].filter(([, of]) => of === shard).map(([id]) => id);
  }

  /** Returns a guild if the cache has more than an id: one that was unavailable when the session began has no owner. */
  cached(id) {
    const guild = this.#client.guilds.cache.get(id);
    return guild?.ownerId ? guild : undefined;
  }

  // Sessions and guilds ----------------------------------------------------------------------------------------------

  /** Adopts the guilds of a client that is already connected. */
  joinLate() {
    for (const shard of this.#client.ws.shards.keys()) this.isReady(shard);
  }

  /** Adopts the guilds that a new session names; the cache keeps those that were left in the meantime. */
  connected(shard, ids) {
    const named = new Set(ids);
    for (const guild of this.guildsOf(shard)) {
      this.guilds.delete(guild);
      if (!named.has(guild)) this.#facts.forget(guild);
    }
    for (const guild of named) {
      this.guilds.set(guild, shard);
      this.loaded.delete(guild);
    }
    this.connecting.add(shard);
  }

  isReady(shard) {
    // Otherwise the kit was created after the session began.
    if (!this.connecting.has(shard) && !this.ready.has(shard)) {
      for (const guild of this.#client.guilds.cache.values()) {
        if (guild.shardId === shard) this.guilds.set(guild.id, shard);
      }
    }
    this.connecting.delete(shard);
    this.ready.add(shard);
  }

  came(guild, shard) {
    this.guilds.set(guild, shard);
    this.loaded.delete(guild);
    this.left.delete(guild);
  }

  gone(guild) {
    this.guilds.delete(guild);
    this.loaded.delete(guild);
    this.#facts.forget(guild);
    this.left.add(guild);
  }

  // Current state ----------------------------------------------------------------------------------------------------

  /** Returns the current state of a guild whose facts are known. @returns {Reported} */
  report(guild, sent) {
    const members = new Map();
    const bound = this.#facts.boundRoles(guild.id);
    if (this.seesMembers && bound.size) {
      for (const member of guild.members.cache.values()) {
        const roles = rolesAmong(guild, member, bound);
        if (roles.length) members.set(member.id, roles);
      }
      // No event said that a member outside the cache changed.
      for (const [user, roles] of this.hasAllMembers(guild) ? [] : (sent?.members ?? [])) {
        const kept = roles.filter((role) => bound.has(role));
        if (kept.length && !guild.members.cache.has(user)) members.set(user, kept);
      }
    }
    const now = new Reported(this.guildLine(guild), members);
    now.outline = sent?.outline;
    return now;
  }

  guildLine(guild) {
    return guildLine(guild, this.#facts.of(guild.id));
  }

  /** Returns the bound roles of a member, or none if the cache does not have the member. */
  rolesOf(guild, user) {
    const member = guild.members.cache.get(user);
    return member && this.seesMembers ? rolesAmong(guild, member, this.#facts.boundRoles(guild.id)) : [];
  }

  hasAllMembers(guild) {
    return this.loaded.has(guild.id) || guild.members.cache.size >= guild.memberCount;
  }

  /** Returns guilds with bound roles whose members are not all in the cache. */
  withoutMembers(shard) {
    return this.guildsOf(shard)
      .map((id) => this.cached(id))
      .filter((guild) => guild?.available && this.#facts.boundRoles(guild.id).size && !this.hasAllMembers(guild));
  }
}

/** Reads the ids where the library keeps them: `member.roles.cache` builds a new collection at each access. */
function rolesAmong(guild, member, bound) {
  const ids = member._roles ?? [...member.roles.cache.keys()];
  return ids.filter((id) => bound.has(id) && guild.roles.cache.has(id)).sort();
}

module.exports = { World };
