/** Sends what is marked: snapshots of shards, records of other kinds, and differences. */

'use strict';

const { createHash } = require('node:crypto');

const { Reported, differences, lostMembers, memberChange, outlineLine } = require('./records.js');
const { CompanionError } = require('./report.js');
const { backOff } = require('./transport.js');

const LINES_PER_REQUEST = 5_000;
/** Characters. */
const OUTLINES_PER_REQUEST = 2 ** 21;

/** Keeps what was sent last, and one request for changes in flight at a time. */
class Sync {
  /** Failures in a row. */ failures = 0;
  /** Callers of `flush` that wait. */ hurry = 0;
  /** Called with guilds that the service has accepted. */ onReported = (_guilds) => {};
  #world;
  #facts;
  #pending;
  #members;
  #transport;
  #waiting;
  #reporter;
  #flushAfter;
  #isSending = false;
  /** @type {Map<string, Reported>} */ #sent = new Map();
  /** Shards whose last snapshot could not remove anything. @type {Set<number>} */ #incomplete = new Set();

  constructor({ world, facts, pending, members, transport, waiting, reporter }, { flushAfter }) {
    this.#world = world;
    this.#facts = facts;
    this.#pending = pending;
    this.#members = members;
    this.#transport = transport;
    this.#waiting = waiting;
    this.#reporter = reporter;
    this.#flushAfter = flushAfter;
  }

  get isIdle() {
    return !this.#isSending && this.#pending.marks.size === 0 && !this.#members.isLoading;
  }

  markEverything() {
    this.#members.allowRetries();
    for (const shard of this.#world.ready) this.#pending.mark('shards', shard);
    if (this.#world.ready.has(0)) this.markKinds();
  }

  markKinds() {
    for (const kind of this.#facts.kinds) this.#pending.mark('kinds', kind);
  }

  /** Marks the snapshot of a shard again if its last one was incomplete and no guild is unknown any more. */
  complete(shard) {
    if (!this.#incomplete.has(shard)) return;
    const isUnknown = (id) => !this.#world.cached(id) && !this.#sent.has(id);
    queueMicrotask(() => {
      // The library has handled the packet by then.
      if (!this.#world.guildsOf(shard).some(isUnknown)) this.#pending.mark('shards', shard);
    });
  }

  async run() {
    while (!this.#waiting.isStopped) {
      if (this.#pending.marks.size === 0) {
        await this.#waiting.next();
        continue;
      }
      await this.#waiting.pause(this.#flushAfter, () => this.hurry > 0); // marks of this time are sent together
      if (this.#waiting.isStopped) return;
      this.#isSending = true;
      try {
        await this.#sendMarked();
        this.failures = 0;
      } catch (error) {
        if (this.#waiting.isStopped) return;
        this.failures += 1;
        const problem = CompanionError.wrapping(error);
        this.#reporter.error(problem);
        await this.#waiting.pause(backOff(this.failures, problem));
      } finally {
        this.#isSending = false;
        this.#waiting.wake();
      }
    }
  }

  /** Sends everything that is marked. A failed callback blocks nothing else and is called again later. */
  async #sendMarked() {
    const shards = [...this.#pending.marks.shards].sort((a, b) => a - b);
    const snapshots = shards.map((shard) => () => this.#sendSnapshot(shard));
    let failed;
    const others = [() => this.#sendKinds(), () => this.#sendChanges(), () => this.#sendOutlines()];
    for (const step of [...snapshots, ...others]) {
      try {
        await step();
      } catch (error) {
        if (error?.word !== 'callback_failed') throw error;
        failed = error;
      }
    }
    if (failed) throw failed;
  }

  // Snapshots --------------------------------------------------------------------------------------------------------

  async #sendSnapshot(shard) {
    const { marks } = this.#pending;
    const taken = marks.takeGuilds((guild) => this.#world.shardOf(guild) === shard);
    taken.shards.add(shard);
    marks.shards.delete(shard);
    let found = { state: new Map() };
    let refused;
    try {
      found = await this.#stateOf(shard);
      refused = await this.#postSnapshot(shard, found);
    } catch (error) {
      for (const [guild, now] of found.state) {
        now.markUnconfirmed(this.#sent.get(guild));
        this.#sent.set(guild, now);
      }
      marks.putBack(taken);
      throw error;
    }
    for (const guild of this.#sent.keys()) if (this.#world.shardOf(guild) === shard) this.#sent.delete(guild);
    for (const [guild, now] of found.state) {
      if (refused.has(guild)) continue;
      now.unconfirmed.clear();
      this.#sent.set(guild, now);
    }
    if (found.unknown || refused.size) this.#incomplete.add(shard);
    else this.#incomplete.delete(shard);
    if (found.unknown) this.complete(shard); // the last unknown guild may have come during the request
    this.#transport.stats.snapshots += 1;
    this.#wereReported([...found.state.keys()].filter((guild) => !refused.has(guild)));
    this.#members.start(shard);
    if (!found.failed) return;
    marks.shards.add(shard);
    throw new CompanionError('callback_failed', `no facts of ${found.failed} guilds of shard ${shard}`);
  }

  /** Returns the guilds that the service refused. Only a complete snapshot removes what it leaves out. */
  #postSnapshot(shard, { state, unknown, failed }) {
    const lines = [...state].flatMap(([guild, now]) => [...now.lines(guild)]);
    const hasMembers = this.#members.hasAll(shard);
    const isComplete = !unknown && !failed;
    if (!isComplete || !hasMembers) {
      for (const [guild, now] of state) lines.push(...lostMembers(guild, this.#sent.get(guild), now));
    }
    const kinds = hasMembers ? 'guilds,members' : 'guilds';
    const query = isComplete ? `?replace=${kinds}&shard=${shard}&shards=${this.#world.shardCount}` : '';
    return this.#transport.syncGuilds('snapshot', query, lines);
  }

  /** Returns the guilds of a shard, how many of them are unknown, and how many have no facts. */
  async #stateOf(shard) {
    const known = this.#known(this.#world.guildsOf(shard));
    await this.#facts.ask(known);
    const asked = new Set(known.map(({ id }) => id));
    /** @type {Map<string, Reported>} */
    const state = new Map();
    let unknown = 0;
    let failed = 0;
    for (const id of this.#world.guildsOf(shard)) {
      const guild = this.#world.cached(id);
      const sent = this.#sent.get(id);
      if (!guild && sent) state.set(id, sent);
      else if (guild && this.#facts.of(id)) state.set(id, this.#world.report(guild, sent));
      else if (asked.has(id)) failed += 1;
      else unknown += 1;
    }
    return { state, unknown, failed };
  }

  #known(ids) {
    return ids.map((id) => this.#world.cached(id)).filter((guild) => guild !== undefined);
  }

  // Other kinds ------------------------------------------------------------------------------------------------------

  /** Replaces all records of the marked kinds. Records that the service refuses wait for the next mark. */
  async #sendKinds() {
    const { kinds: marked } = this.#pending.marks;
    const kinds = [...marked];
    marked.clear();
    const lines = new Map();
    for (const kind of kinds) {
      const found = await this.#facts.linesOf(kind);
      if (found) lines.set(kind, found);
    }
    try {
      if (lines.size) {
        await this.#transport.sync('facts', `?replace=${[...lines.keys()].join(',')}`, [...lines.values()].flat());
      }
    } catch (error) {
      if (error.status !== 422) {
        for (const kind of kinds) marked.add(kind);
        throw error;
      }
      this.#reporter.error(error);
    }
    const failed = kinds.filter((kind) => !lines.has(kind));
    for (const kind of failed) marked.add(kind);
    if (failed.length) throw new CompanionError('callback_failed', `no records of ${failed.join(', ')}`);
  }

  // Differences ------------------------------------------------------------------------------------------------------

  async #sendChanges() {
    const { marks } = this.#pending;
    const taken = marks.takeGuilds(() => true);
    let found;
    try {
      for (const guild of new Set([...taken.whole, ...taken.guilds])) {
        if (this.#world.left.has(guild)) await this.#sendRemoval(guild);
      }
      found = await this.#changes(taken);
      for (let start = 0; start < found.changes.length; start += LINES_PER_REQUEST) {
        await this.#postChanges(found.changes.slice(start, start + LINES_PER_REQUEST));
      }
    } catch (error) {
      marks.putBack(taken);
      throw error;
    }
    for (const guild of found.failed) marks.whole.add(guild);
    if (found.failed.length) throw new CompanionError('callback_failed', `no facts of ${found.failed.length} guilds`);
  }

  async #postChanges(changes) {
    for (const change of changes) this.#apply(change, false);
    const refused = await this.#transport.syncGuilds('changes', '', changes);
    const accepted = changes.filter(({ guild }) => !refused.has(guild));
    for (const change of accepted) this.#apply(change, true);
    this.#wereReported(accepted.filter(({ user }) => user === undefined).map(({ guild }) => guild));
  }

  /** Returns whether the service has accepted the guild. */
  hasReported(guild) {
    return this.#sent.has(guild) && !this.#sent.get(guild).unconfirmed.has(undefined);
  }

  #wereReported(guilds) {
    for (const guild of guilds) this.#pending.outline(guild);
    this.onReported(guilds);
  }

  #apply(change, isCertain) {
    if (!this.#sent.has(change.guild)) this.#sent.set(change.guild, new Reported(''));
    this.#sent.get(change.guild).apply(change, isCertain);
  }

  async #sendRemoval(guild) {
    this.#sent.get(guild)?.markUnconfirmed();
    if (this.#sent.has(guild)) this.#sent.get(guild).outline = undefined;
    await this.#transport.send('removal', 'DELETE', `/bot/guilds/${guild}`);
    this.#sent.delete(guild);
    this.#world.left.delete(guild);
  }

  /** Returns the differences of marked guilds, each before its members, and the guilds without facts. */
  async #changes(taken) {
    const marked = new Set([...taken.whole, ...taken.guilds, ...taken.members.keys()]);
    const known = this.#known([...marked].filter((id) => this.#world.guilds.has(id)));
    const isWhole = ({ id }) => taken.whole.has(id) || !this.hasReported(id);
    const whole = new Set(known.filter(isWhole));
    await this.#facts.ask(known.filter((guild) => whole.has(guild) || !this.#facts.of(guild.id)));
    const changes = [];
    const failed = [];
    for (const guild of known) {
      const { id } = guild;
      const sent = this.#sent.get(id);
      if (!this.#world.guilds.has(id)) continue; // left in the meantime, and marked again
      if (!this.#facts.of(id)) {
        failed.push(id);
      } else if (whole.has(guild)) {
        for (const change of differences(id, sent, this.#world.report(guild, sent))) changes.push(change);
        this.#members.start(guild.shardId);
      } else {
        const line = this.#world.guildLine(guild);
        if (taken.guilds.has(id) && !sent.hasGuild(line)) changes.push({ guild: id, line });
        for (const user of taken.members.get(id) ?? []) {
          const roles = this.#world.rolesOf(guild, user);
          if (!sent.hasMember(user, roles)) changes.push(memberChange(id, user, roles));
        }
      }
    }
    return { changes, failed };
  }

  // Outlines ---------------------------------------------------------------------------------------------------------

  /** Lets every outline be sent again with the next snapshot of its shard. */
  forgetOutlines() {
    for (const reported of this.#sent.values()) reported.outline = undefined;
  }

  /** Sends marked outlines that differ from the last ones, in one request: the next ones follow later changes. */
  async #sendOutlines() {
    const { outlines } = this.#pending.marks;
    const changes = [];
    let size = 0;
    for (const id of outlines) {
      if (size >= OUTLINES_PER_REQUEST) break;
      outlines.delete(id);
      const guild = this.#world.cached(id);
      if (!guild || !this.#world.guilds.has(id) || !this.hasReported(id)) continue; // marked again once it is reported
      const line = outlineLine(guild);
      const hash = createHash('sha256').update(line).digest('base64');
      size += line.length;
      if (this.#sent.get(id).outline === hash) continue;
      changes.push({ guild: id, line, hash });
      this.#sent.get(id).outline = undefined;
    }
    if (!changes.length) return;
    try {
      await this.#transport.syncGuilds('outlines', '', changes);
    } catch (error) {
      if (error.status === 422) return this.#reporter.error(error); // changes must not wait for refused outlines
      for (const { guild } of changes) outlines.add(guild);
      throw error;
    }
    // A refused one is sent again when it has changed.
    for (const { guild, hash } of changes) this.#sent.get(guild).outline = hash;
  }
}

module.exports = { Sync };
