/** Listens to the library's events and marks what they may have changed. */

'use strict';

const { CompanionError } = require('./report.js');

/** Attached to the client from its creation until `detach`. */
class Events {
  #client;
  #world;
  #facts;
  #pending;
  #members;
  #sync;
  #reporter;
  #beforeEvent;
  /** Guilds with changes that came before the client was ready. @type {Set<string>} */ #early = new Set();
  /** @type {(() => void)[]} */ #undo = [];

  /** @param {object} parts @param {{ beforeEvent: () => void, beforeDestroy: () => Promise<void> }} hooks */
  constructor(client, { world, facts, pending, members, sync, reporter }, { beforeEvent, beforeDestroy }) {
    this.#client = client;
    this.#world = world;
    this.#facts = facts;
    this.#pending = pending;
    this.#members = members;
    this.#sync = sync;
    this.#reporter = reporter;
    this.#beforeEvent = beforeEvent;
    // Packets come before the library decides whether to emit an event: it emits none for changes while a shard is
    // starting, nor for members that it has not cached.
    this.#listen('raw', (packet, shard) => this.#received(packet, shard));
    this.#listen('shardReady', (shard) => this.#isReady(shard));
    this.#listen('clientReady', () => this.#markEarly());
    this.#wrapDestroy(beforeDestroy);
  }

  /** Removes every listener and restores `destroy`. */
  detach() {
    for (const undo of this.#undo.splice(0)) undo();
  }

  #listen(event, handle) {
    const listener = (...args) => {
      try {
        this.#beforeEvent();
        handle(...args);
      } catch (error) {
        this.#reporter.error(CompanionError.wrapping(error)); // a defect of the kit must not reach the bot
      }
    };
    this.#client.on(event, listener);
    this.#undo.push(() => this.#client.off(event, listener));
  }

  #wrapDestroy(beforeDestroy) {
    const client = this.#client;
    const wasOwn = Object.hasOwn(client, 'destroy');
    const previous = client.destroy;
    const destroy = async () => {
      await beforeDestroy().catch((error) => this.#reporter.error(CompanionError.wrapping(error)));
      await previous.call(client);
    };
    client.destroy = destroy;
    this.#undo.push(() => {
      if (client.destroy !== destroy) return; // wrapped again in the meantime
      if (wasOwn) client.destroy = previous;
      else delete client.destroy;
    });
  }

  #received({ t: name, d: data }, shard) {
    switch (name) {
      case 'READY':
        return this.#world.connected(
          shard,
          data.guilds.map(({ id }) => id),
        );
      case 'GUILD_CREATE':
        return data.unavailable ? undefined : this.#guildCame(data.id, shard);
      case 'GUILD_DELETE':
        return data.unavailable ? undefined : this.#guildLeft(data.id, shard);
      case 'GUILD_UPDATE':
        return this.#changed('guilds', data.id);
      case 'GUILD_ROLE_DELETE':
        if (this.#facts.boundRoles(data.guild_id).has(data.role_id)) this.#changed('whole', data.guild_id);
        return this.#outlineChanged(data.guild_id);
      case 'GUILD_ROLE_CREATE':
      case 'GUILD_ROLE_UPDATE':
      case 'CHANNEL_CREATE':
      case 'CHANNEL_UPDATE':
      case 'CHANNEL_DELETE':
        return data.guild_id ? this.#outlineChanged(data.guild_id) : undefined;
      case 'GUILD_MEMBER_ADD':
      case 'GUILD_MEMBER_REMOVE':
        this.#pending.count(data.guild_id);
        return this.#memberChanged(data.guild_id, data.user.id);
      case 'GUILD_MEMBER_UPDATE':
        return this.#memberChanged(data.guild_id, data.user.id);
    }
  }

  #isReady(shard) {
    this.#world.isReady(shard);
    this.#members.allowRetries();
    this.#pending.mark('shards', shard);
    if (shard === 0) this.#sync.markKinds();
  }

  #guildCame(guild, shard) {
    this.#world.came(guild, shard);
    if (this.#world.connecting.has(shard)) return; // the snapshot has it
    this.#pending.mark('whole', guild);
    this.#pending.outline(guild);
    this.#sync.complete(shard);
  }

  #guildLeft(guild, shard) {
    this.#world.gone(guild);
    this.#pending.forgetCount(guild);
    this.#pending.mark('guilds', guild);
    this.#sync.complete(shard);
  }

  #memberChanged(guild, user) {
    if (!this.#facts.boundRoles(guild).size) return;
    this.#pending.member(guild, user);
    this.#noteEarly(guild);
  }

  #outlineChanged(guild) {
    if (!this.#pending.hasOutlines) return;
    this.#pending.outline(guild);
    this.#noteEarly(guild);
  }

  #changed(how, guild) {
    this.#pending.mark(how, guild);
    this.#noteEarly(guild);
  }

  /** The library defers packets until all shards are ready, so a change may be compared before it is in the cache. */
  #noteEarly(guild) {
    if (!this.#client.isReady()) this.#early.add(guild);
  }

  #markEarly() {
    for (const guild of this.#early) {
      this.#pending.mark('whole', guild);
      this.#pending.outline(guild);
    }
    this.#early.clear();
  }
}

module.exports = { Events };
