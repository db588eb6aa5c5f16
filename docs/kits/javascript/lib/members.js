/** Requests members from the gateway that the library has not loaded. */

'use strict';

const { CompanionError } = require('./report.js');

/** Loads the members of guilds with bound roles, one guild of a shard at a time; then marks a snapshot. */
class MemberLoader {
  #world;
  #pending;
  #waiting;
  #reporter;
  #failed = new Set();
  #loading = new Set();

  constructor(world, pending, waiting, reporter) {
    this.#world = world;
    this.#pending = pending;
    this.#waiting = waiting;
    this.#reporter = reporter;
  }

  get isLoading() {
    return this.#loading.size > 0;
  }

  /** Forgets which guilds failed. */
  allowRetries() {
    this.#failed.clear();
  }

  hasAll(shard) {
    return this.#world.seesMembers && this.#world.withoutMembers(shard).length === 0;
  }

  start(shard) {
    if (!this.#world.seesMembers || this.#loading.has(shard) || this.#waiting.isStopped) return;
    const guilds = this.#world.withoutMembers(shard).filter(({ id }) => !this.#failed.has(id));
    if (guilds.length) void this.#load(shard, guilds);
  }

  async #load(shard, guilds) {
    this.#loading.add(shard);
    for (const guild of guilds) {
      if (this.#waiting.isStopped) break;
      try {
        await guild.members.fetch({ time: 60_000 });
        this.#world.loaded.add(guild.id);
      } catch (cause) {
        this.#failed.add(guild.id);
        this.#reporter.error(new CompanionError('members_unknown', `guild ${guild.id}: ${cause}`, { cause }));
      }
    }
    this.#loading.delete(shard);
    this.#pending.mark('shards', shard);
  }
}

module.exports = { MemberLoader };
