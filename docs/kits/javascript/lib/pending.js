/** Marks: ids of what may have changed and was not sent yet. */

'use strict';

/** Ids alone, so that the size is bounded by the bot's guilds and `maxMembers`. */
class Marks {
  /** Snapshots to send. @type {Set<number>} */ shards = new Set();
  /** @type {Set<string>} */ kinds = new Set();
  /** Guilds to compare with all of their members. @type {Set<string>} */ whole = new Set();
  /** @type {Set<string>} */ guilds = new Set();
  /** Users by guild. @type {Map<string, Set<string>>} */ members = new Map();
  memberCount = 0;
  /** Guilds whose channels or roles to compare. @type {Set<string>} */ outlines = new Set();

  get size() {
    const guilds = this.whole.size + this.guilds.size + this.outlines.size;
    return this.shards.size + this.kinds.size + guilds + this.memberCount;
  }

  /** @param {string} guild @param {string} user @param {number} most */
  addMember(guild, user, most) {
    const users = this.members.get(guild) ?? new Set();
    this.members.set(guild, users);
    if (!users.has(user)) this.memberCount += 1;
    users.add(user);
    if (this.memberCount <= most) return;
    // Comparing whole guilds costs less than remembering every member.
    for (const id of this.members.keys()) this.whole.add(id);
    this.members.clear();
    this.memberCount = 0;
  }

  /** @param {Marks} other */
  putBack(other) {
    for (const name of ['shards', 'kinds', 'whole', 'guilds']) {
      for (const mark of other[name]) this[name].add(mark);
    }
    for (const [guild, users] of other.members) {
      for (const user of users) this.addMember(guild, user, Infinity);
    }
  }

  /** Moves the marks of guilds that `belongs` accepts into the result. @param {(guild: string) => boolean} belongs */
  takeGuilds(belongs) {
    const taken = new Marks();
    for (const name of ['whole', 'guilds']) {
      for (const guild of this[name]) if (belongs(guild) && this[name].delete(guild)) taken[name].add(guild);
    }
    for (const [guild, users] of this.members) {
      if (!belongs(guild)) continue;
      this.members.delete(guild);
      this.memberCount -= users.size;
      taken.members.set(guild, users);
      taken.memberCount += users.size;
    }
    return taken;
  }
}

/** The current marks. Each wakes the loop that sends. */
class Pending {
  marks = new Marks();
  hasOutlines;
  #waiting;
  #maxMembers;
  #countsEvery;
  #counts = new Set();

  /**
   * @param {import('./waiting.js').Waiting} waiting
   * @param {{ maxMembers: number, countsEvery: number, outlines: boolean }} options
   */
  constructor(waiting, { maxMembers, countsEvery, outlines }) {
    this.#waiting = waiting;
    this.hasOutlines = outlines;
    this.#maxMembers = maxMembers;
    this.#countsEvery = countsEvery;
  }

  /** @param {'shards' | 'kinds' | 'whole' | 'guilds' | 'outlines'} how @param {number | string} id */
  mark(how, id) {
    this.marks[how].add(id);
    this.#waiting.wake();
  }

  outline(guild) {
    if (this.hasOutlines) this.mark('outlines', guild);
  }

  member(guild, user) {
    this.marks.addMember(guild, user, this.#maxMembers);
    this.#waiting.wake();
  }

  /** Marks a guild within `countsEvery`: the number of members changes too often to be sent at once. */
  count(guild) {
    if (!this.#counts.size) setTimeout(() => this.countsAreDue(), this.#countsEvery).unref();
    this.#counts.add(guild);
  }

  countsAreDue() {
    for (const guild of this.#counts) this.mark('guilds', guild);
    this.#counts.clear();
  }

  forgetCount(guild) {
    this.#counts.delete(guild);
  }
}

module.exports = { Pending };
