/**
 * Keeps a Companion service informed about a discord.js bot.
 *
 * One file to copy beside the bot; it needs discord.js 14, Node 18 or later, and nothing else. What is sent when, and
 * what it costs, is in `docs/kits/README.md`.
 *
 *     const companion = new Companion(client, { url: 'http://127.0.0.1:8081', key, guild: factsOfGuild });
 *
 * The kit remembers what the service holds and compares. Events only mark what may have changed; a moment later the
 * current state is read from the library's cache, and what differs is sent in one request. So a lost answer, a restart
 * of the service or a burst of events needs no queue of events: whatever is marked is compared again.
 *
 * @typedef {{ setup?: boolean, linked?: boolean, roles?: Record<string, Iterable<string>> }} GuildFacts
 *   What only the bot knows about a guild. What is left out is false or empty.
 * @typedef {{ what: 'snapshot'|'changes'|'removal'|'facts'|'heartbeat', lines: number, size: number, seconds: number,
 *   added: number, changed: number, removed: number }} Posted A request that the service accepted.
 * @typedef {{ guild: string, members: Map<string, string[]> }} Known A guild as the lines of a sync.
 * @typedef {{ guild: string, line: string, user?: string, roles?: string[] }} Change A line, and what it is about.
 * @typedef {() => Iterable<object|string> | Promise<Iterable<object|string>>} FactsCallback
 *
 * @typedef {object} Options
 * @property {string} url Address of the management API.
 * @property {string} key Its key.
 * @property {string} [cluster] Name of this process; `cluster-` and its lowest shard unless given.
 * @property {(guild: import('discord.js').Guild) => GuildFacts | Promise<GuildFacts>} [guild] Facts about a guild.
 * @property {FactsCallback} [plus] All records of a kind, in the fields of the management API; likewise the others.
 * @property {FactsCallback} [staff]
 * @property {FactsCallback} [team]
 * @property {FactsCallback} [feedback]
 * @property {FactsCallback} [blocked]
 * @property {(posted: Posted) => unknown} [onPosted]
 * @property {(error: CompanionError) => unknown} [onError] `console.warn` unless given.
 * @property {number} [flushAfter] Milliseconds that changes are gathered for.
 * @property {number} [countsEvery] Milliseconds between two reports of a guild's number of members.
 * @property {number} [heartbeatEvery]
 * @property {number} [snapshotEvery]
 * @property {number} [snapshotAfterOutage]
 * @property {number} [stopWithin] Milliseconds that stopping may take.
 * @property {number} [maxMembers] Members that are remembered one by one as changed.
 */

const BOUND_KEYS = ['MOD', 'ADMIN', 'ERLC_STAFF', 'ERLC_ADMIN', 'ERLC_MANAGER', 'SESSION_STARTER'];
const FACT_KINDS = ['plus', 'staff', 'team', 'feedback', 'blocked'];
const GUILD_MEMBERS_INTENT = 1 << 1;
const LINES_PER_REQUEST = 5_000;
const LONGEST_PAUSE = 60_000;
const MOST_REJECTIONS = 10;
const DEFAULTS = {
  flushAfter: 2_000,
  countsEvery: 60_000,
  heartbeatEvery: 20_000,
  snapshotEvery: 6 * 3_600_000,
  snapshotAfterOutage: 300_000,
  stopWithin: 5_000,
  maxMembers: 10_000,
};

/**
 * Something did not work. `word` is the service's error word, or `unreachable`, `unreadable`, `callback_failed`,
 * `members_unknown` or `kit_failed`, which are the kit's own.
 */
export class CompanionError extends Error {
  /**
   * @param {string} word
   * @param {string} message
   * @param {{ status?: number, retryAfter?: number, fields?: { path: string, message: string }[],
   *   cause?: unknown }} [more]
   */
  constructor(word, message, { status, retryAfter, fields = [], cause } = {}) {
    super(`${word}: ${message}`, { cause });
    this.name = 'CompanionError';
    this.word = word;
    this.status = status;
    /** Milliseconds. */
    this.retryAfter = retryAfter;
    this.fields = fields;
  }

  /** The number of the line that a sync was refused for. */
  get wrongLine() {
    for (const { path } of this.fields) {
      const match = /^line (\d+)/.exec(path);
      if (match) return Number(match[1]);
    }
    return undefined;
  }
}

/** What may have changed. Everything in it is an id, so its size is bounded by the bot's guilds and `maxMembers`. */
class Pending {
  /** @type {Set<number>} */ shards = new Set();
  /** @type {Set<string>} */ kinds = new Set();
  /** @type {Set<string>} */ whole = new Set();
  /** @type {Set<string>} */ guilds = new Set();
  /** @type {Map<string, Set<string>>} Users by guild. */ members = new Map();
  memberCount = 0;

  get isEmpty() {
    return !(this.shards.size || this.kinds.size || this.whole.size || this.guilds.size || this.memberCount);
  }

  /** @param {string} guild @param {string} user @param {number} most */
  markMember(guild, user, most) {
    const users = this.members.get(guild) ?? new Set();
    this.members.set(guild, users);
    if (!users.has(user)) this.memberCount += 1;
    users.add(user);
    if (this.memberCount <= most) return;
    // Comparing whole guilds costs less than remembering who changed.
    for (const id of this.members.keys()) this.whole.add(id);
    this.members.clear();
    this.memberCount = 0;
  }

  /** @param {Pending} other */
  putBack(other) {
    for (const name of /** @type {const} */ (['shards', 'kinds', 'whole', 'guilds'])) {
      for (const mark of other[name]) /** @type {Set<any>} */ (this[name]).add(mark);
    }
    for (const [guild, users] of other.members) {
      for (const user of users) this.markMember(guild, user, Infinity);
    }
  }

  /** Takes out marks of the guilds that `belongs` names. @param {(guild: string) => boolean} belongs */
  takeGuilds(belongs) {
    const taken = new Pending();
    for (const name of /** @type {const} */ (['whole', 'guilds'])) {
      for (const guild of this[name]) {
        if (belongs(guild) && this[name].delete(guild)) taken[name].add(guild);
      }
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

/** Reports the guilds, members and shards of a client to the management API. */
export class Companion {
  /** Totals since the start, for the bot's own metrics. */
  stats = { requests: 0, failures: 0, bytes: 0, lines: 0, snapshots: 0, heartbeats: 0 };

  #client;
  /** @type {Options & typeof DEFAULTS} */ #options;
  /** @type {Map<string, number>} Guild to shard, as the gateway names them. */ #guilds = new Map();
  /** @type {Map<string, { setup: boolean, linked: boolean, roles: Record<string, string[]> }>} */ #facts = new Map();
  /** @type {Map<string, Known>} */ #sent = new Map();
  #pending = new Pending();
  /** @type {Set<string>} */ #counts = new Set();
  /** @type {Set<string>} */ #early = new Set();
  /** @type {Set<number>} */ #connecting = new Set();
  /** @type {Set<number>} */ #ready = new Set();
  /** @type {Set<number>} */ #incomplete = new Set();
  /** @type {Set<string>} */ #left = new Set();
  /** @type {Set<string>} */ #loaded = new Set();
  /** @type {Set<string>} */ #notLoadable = new Set();
  /** @type {Set<number>} */ #loading = new Set();
  #startedAt = Math.floor(Date.now() / 1000);
  #started = false;
  #stopping = false;
  #failures = 0;
  #hurry = 0;
  /** @type {number | undefined} */ #downSince;
  #stop = new AbortController();
  #moved = new EventTarget();

  /** @param {import('discord.js').Client} client @param {Options} options */
  constructor(client, options) {
    this.#client = client;
    this.#options = { ...DEFAULTS, ...options, url: options.url.replace(/\/+$/, '') };
    this.#attach();
    if (client.isReady()) this.#joinLate();
  }

  // What the bot calls -----------------------------------------------------------------------------------------------

  /** Says that the bot's own facts about a guild are different now. @param {string | { id: string }} guild */
  guildChanged(guild) {
    this.#mark('whole', typeof guild === 'string' ? guild : guild.id);
  }

  /**
   * Says that records of these kinds are different now.
   * @param {...('plus'|'staff'|'team'|'feedback'|'blocked')} kinds
   */
  factsChanged(...kinds) {
    for (const kind of kinds) {
      if (this.#options[kind]) this.#mark('kinds', kind);
      else this.#report(new CompanionError('callback_failed', `there is no callback for ${kind}`));
    }
  }

  /** How much is marked as changed and not sent yet. */
  get pending() {
    const { shards, kinds, whole, guilds, memberCount } = this.#pending;
    return shards.size + kinds.size + whole.size + guilds.size + memberCount;
  }

  /**
   * Sends what is pending without the usual delay; whether all of it arrived in time.
   * @param {number} [timeout] milliseconds
   */
  async flush(timeout = 60_000) {
    this.#countsAreDue();
    this.#hurry += 1;
    const deadline = Date.now() + timeout;
    try {
      while (!this.#isIdle()) {
        if (Date.now() >= deadline || this.#stop.signal.aborted) return false;
        this.#wake();
        await this.#nextMove(Math.min(deadline - Date.now(), 50));
      }
      return true;
    } finally {
      this.#hurry -= 1;
    }
  }

  /** Sends what is pending, for `stopWithin` at most, and ends. `client.destroy()` calls it. */
  async stop() {
    if (this.#stopping) return;
    this.#stopping = true;
    if (this.#started && this.#failures === 0) await this.flush(this.#options.stopWithin);
    this.#stop.abort();
    this.#wake();
  }

  // Events -----------------------------------------------------------------------------------------------------------

  #attach() {
    // Packets come before the library decides whether an event is due: it emits none for changes while a shard is
    // starting, nor for members that it has not cached.
    this.#listen('raw', (packet, shard) => this.#received(packet, shard));
    this.#listen('shardReady', (shard) => this.#isReady(shard));
    this.#listen('clientReady', () => this.#changesThatCameEarly());
    const destroy = this.#client.destroy.bind(this.#client);
    this.#client.destroy = async () => {
      await this.stop().catch((error) => this.#report(wrapped(error)));
      await destroy();
    };
  }

  /** @param {string} event @param {(...args: any[]) => void} handle */
  #listen(event, handle) {
    this.#client.on(event, (...args) => {
      try {
        this.#start();
        handle(...args);
      } catch (error) {
        this.#report(wrapped(error)); // the bot must never see a mistake of ours
      }
    });
  }

  #start() {
    if (this.#started || this.#stopping) return;
    this.#started = true;
    void this.#sendLoop();
    void this.#heartbeatLoop();
  }

  /** Made while the bot runs: what connecting would have said is in the cache. */
  #joinLate() {
    for (const guild of this.#client.guilds.cache.values()) this.#guilds.set(guild.id, guild.shardId);
    this.#ready = new Set(this.#client.ws.shards.keys());
    this.#markEverything();
    this.#start();
  }

  /** @param {{ t: string, d: any }} packet @param {number} shard */
  #received({ t: name, d: data }, shard) {
    switch (name) {
      case 'READY':
        return this.#connected(data, shard);
      case 'GUILD_CREATE':
        return data.unavailable ? undefined : this.#guildCame(data.id, shard);
      case 'GUILD_DELETE':
        return data.unavailable ? undefined : this.#guildLeft(data.id, shard);
      case 'GUILD_UPDATE':
        return this.#changed('guilds', data.id);
      case 'GUILD_ROLE_DELETE':
        return this.#isBound(data.guild_id, data.role_id) ? this.#changed('whole', data.guild_id) : undefined;
      case 'GUILD_MEMBER_ADD':
      case 'GUILD_MEMBER_REMOVE':
        return this.#memberMoved(data.guild_id, data.user.id);
      case 'GUILD_MEMBER_UPDATE':
        return this.#memberChanged(data.guild_id, data.user.id);
    }
  }

  /** A new session names all guilds of its shard; the cache keeps those that were left meanwhile. */
  #connected(data, shard) {
    const named = new Set(data.guilds.map(({ id }) => id));
    for (const [guild, of] of this.#guilds) {
      if (of !== shard) continue;
      this.#guilds.delete(guild);
      if (!named.has(guild)) this.#facts.delete(guild);
    }
    for (const id of named) {
      this.#guilds.set(id, shard);
      this.#loaded.delete(id);
    }
    this.#connecting.add(shard);
  }

  #isReady(shard) {
    this.#connecting.delete(shard);
    this.#ready.add(shard);
    this.#notLoadable.clear();
    this.#mark('shards', shard);
    if (shard === 0) this.#markFacts();
  }

  #guildCame(guild, shard) {
    this.#guilds.set(guild, shard);
    this.#loaded.delete(guild);
    this.#left.delete(guild);
    if (this.#connecting.has(shard)) return; // the snapshot will have it
    this.#mark('whole', guild);
    this.#complete(shard);
  }

  #guildLeft(guild, shard) {
    this.#guilds.delete(guild);
    this.#loaded.delete(guild);
    this.#facts.delete(guild);
    this.#counts.delete(guild);
    this.#left.add(guild);
    this.#mark('guilds', guild);
    this.#complete(shard);
  }

  /** A snapshot that had to leave a guild out removed nothing; it is made up for once all are known. */
  #complete(shard) {
    if (!this.#incomplete.has(shard)) return;
    queueMicrotask(() => {
      // The packet is in the cache by then.
      const unknown = [...this.#guilds].some(([id, of]) => of === shard && !this.#cached(id) && !this.#sent.has(id));
      if (!unknown) this.#mark('shards', shard);
    });
  }

  /** Someone joined or left: the count, which moves all the time, can wait; roles cannot. */
  #memberMoved(guild, user) {
    if (!this.#counts.size) setTimeout(() => this.#countsAreDue(), this.#options.countsEvery).unref();
    this.#counts.add(guild);
    this.#memberChanged(guild, user);
  }

  #memberChanged(guild, user) {
    if (!this.#boundRoles(guild).size) return;
    this.#pending.markMember(guild, user, this.#options.maxMembers);
    if (!this.#client.isReady()) this.#early.add(guild);
    this.#wake();
  }

  #changed(how, guild) {
    this.#mark(how, guild);
    if (!this.#client.isReady()) this.#early.add(guild);
  }

  /** Before all shards are ready the library puts changes off, so they may have been looked for too early. */
  #changesThatCameEarly() {
    for (const guild of this.#early) this.#mark('whole', guild);
    this.#early.clear();
  }

  #countsAreDue() {
    for (const guild of this.#counts) this.#mark('guilds', guild);
    this.#counts.clear();
  }

  /** @param {'shards'|'kinds'|'whole'|'guilds'} how @param {any} what */
  #mark(how, what) {
    /** @type {Set<any>} */ (this.#pending[how]).add(what);
    this.#wake();
  }

  #markFacts() {
    for (const kind of FACT_KINDS) if (this.#options[kind]) this.#mark('kinds', kind);
  }

  #markEverything() {
    this.#notLoadable.clear();
    for (const shard of this.#ready) this.#mark('shards', shard);
    if (this.#ready.has(0)) this.#markFacts();
  }

  // Sending ----------------------------------------------------------------------------------------------------------

  #sending = false;

  #isIdle() {
    return !this.#sending && this.#pending.isEmpty && this.#loading.size === 0;
  }

  #wake() {
    this.#moved.dispatchEvent(new Event('move'));
  }

  /** Waits until something happens, or for so many milliseconds. @param {number} [most] */
  #nextMove(most) {
    return new Promise((resolve) => {
      const timer = most === undefined ? undefined : setTimeout(done, most);
      const { signal } = this.#stop;
      const moved = this.#moved;
      /** @this {unknown} */
      function done() {
        clearTimeout(timer);
        moved.removeEventListener('move', done);
        signal.removeEventListener('abort', done);
        resolve(undefined);
      }
      moved.addEventListener('move', done);
      signal.addEventListener('abort', done);
    });
  }

  /** @param {number} most milliseconds @param {() => boolean} [enough] */
  async #pause(most, enough = () => false) {
    const end = Date.now() + most;
    while (Date.now() < end && !this.#stop.signal.aborted && !enough()) await this.#nextMove(end - Date.now());
  }

  async #sendLoop() {
    while (!this.#stop.signal.aborted) {
      if (this.#pending.isEmpty) {
        await this.#nextMove();
        continue;
      }
      await this.#pause(this.#options.flushAfter, () => this.#hurry > 0); // what comes meanwhile goes along
      if (this.#stop.signal.aborted) return;
      this.#sending = true;
      try {
        await this.#sendPending();
        this.#failures = 0;
      } catch (error) {
        const problem = wrapped(error);
        this.#failures += 1;
        this.#report(problem);
        await this.#backOff(problem);
      } finally {
        this.#sending = false;
        this.#wake();
      }
    }
  }

  /** @param {CompanionError} problem */
  #backOff({ retryAfter = 0 }) {
    const doubled = Math.min(LONGEST_PAUSE, 500 * 2 ** Math.min(this.#failures, 10));
    // A little later than allowed, so that many bots do not come at once.
    return this.#pause(Math.max(doubled * between(0.5, 1), retryAfter * between(1, 1.1)));
  }

  /** Everything that is marked. A callback that fails is heard again later, and holds nothing else up. */
  async #sendPending() {
    const snapshots = [...this.#pending.shards].sort((a, b) => a - b).map((shard) => () => this.#sendSnapshot(shard));
    let failed;
    for (const step of [...snapshots, () => this.#sendFacts(), () => this.#sendChanges()]) {
      try {
        await step();
      } catch (error) {
        if (error?.word !== 'callback_failed') throw error;
        failed = error;
      }
    }
    if (failed) throw failed;
  }

  /** @param {number} shard */
  async #sendSnapshot(shard) {
    const taken = this.#pending.takeGuilds((guild) => this.#shardOf(guild) === shard);
    taken.shards.add(shard);
    this.#pending.shards.delete(shard);
    let found, refused;
    try {
      found = await this.#worldOf(shard);
      refused = await this.#postSnapshot(shard, found.world, found.unknown === 0 && found.failed === 0);
    } catch (error) {
      this.#pending.putBack(taken);
      throw error;
    }
    for (const guild of this.#sent.keys()) if (this.#shardOf(guild) === shard) this.#sent.delete(guild);
    for (const [guild, known] of found.world) if (!refused.has(guild)) this.#sent.set(guild, known);
    if (found.unknown || refused.size) this.#incomplete.add(shard);
    else this.#incomplete.delete(shard);
    if (found.unknown) this.#complete(shard); // the last of them may have come while it was on its way
    this.stats.snapshots += 1;
    this.#loadMembersOf(shard);
    if (!found.failed) return;
    this.#pending.shards.add(shard);
    throw new CompanionError('callback_failed', `facts of ${found.failed} guilds of shard ${shard} are not known`);
  }

  /** All guilds of a shard; how many of them are unavailable and were never seen; and whose facts failed. */
  async #worldOf(shard) {
    /** @type {Map<string, Known>} */
    const world = new Map();
    let unknown = 0;
    let failed = 0;
    for (const id of [...this.#guilds.keys()].filter((guild) => this.#guilds.get(guild) === shard)) {
      const guild = this.#cached(id);
      const sent = this.#sent.get(id);
      if (!guild && sent) world.set(id, sent);
      else if (!guild) unknown += 1;
      else if (await this.#askFacts(guild)) world.set(id, this.#describe(guild));
      else failed += 1;
    }
    return { world, unknown, failed };
  }

  /** Posts all of a shard; gives the guilds that the service refused. Only a complete snapshot removes things. */
  async #postSnapshot(shard, world, isComplete) {
    /** @type {Set<string>} */
    const refused = new Set();
    for (;;) {
      /** @type {Change[]} */
      const lines = [];
      for (const [guild, known] of world) {
        if (refused.has(guild)) continue;
        lines.push({ guild, line: known.guild });
        for (const [user, roles] of known.members) lines.push({ guild, line: memberLine(guild, user, roles) });
      }
      const kinds = this.#membersAreKnown(shard) ? 'guilds,members' : 'guilds';
      const replaces = isComplete && refused.size === 0;
      const query = replaces ? `?replace=${kinds}&shard=${shard}&shards=${this.#shardCount()}` : '';
      try {
        await this.#post(
          'snapshot',
          query,
          lines.map(({ line }) => line),
        );
        return refused;
      } catch (error) {
        refused.add(this.#refusedGuild(error, lines, refused.size));
      }
    }
  }

  /** One wrong line refuses a whole sync: its guild is left out and the rest goes again. */
  #refusedGuild(error, lines, soFar) {
    const wrong = lines[(error.wrongLine ?? 0) - 1];
    if (!wrong || soFar >= MOST_REJECTIONS) throw error;
    this.#report(error);
    return wrong.guild;
  }

  /** All records of the kinds that changed. Mistakes in them are the callback's, and wait for its next word. */
  async #sendFacts() {
    const kinds = [...this.#pending.kinds];
    if (!kinds.length) return;
    this.#pending.kinds.clear();
    const lines = [];
    const failed = [];
    for (const kind of kinds) {
      try {
        lines.push(...Array.from(await this.#options[kind](), (record) => factLine(kind, record)));
      } catch (error) {
        failed.push(kind);
        this.#report(new CompanionError('callback_failed', `${kind}: ${error}`, { cause: error }));
      }
    }
    const good = kinds.filter((kind) => !failed.includes(kind));
    try {
      if (good.length) await this.#post('facts', `?replace=${good.join(',')}`, lines);
    } catch (error) {
      if (error.status !== 422) {
        for (const kind of kinds) this.#pending.kinds.add(kind);
        throw error;
      }
      this.#report(error);
    }
    for (const kind of failed) this.#pending.kinds.add(kind);
    if (failed.length) throw new CompanionError('callback_failed', `there are no records of ${failed.join(', ')}`);
  }

  async #sendChanges() {
    const taken = this.#pending.takeGuilds(() => true);
    let found;
    try {
      for (const guild of new Set([...taken.whole, ...taken.guilds])) {
        if (this.#left.has(guild)) await this.#sendRemoval(guild);
      }
      found = await this.#changes(taken);
      for (let start = 0; start < found.changes.length; start += LINES_PER_REQUEST) {
        await this.#postChanges(found.changes.slice(start, start + LINES_PER_REQUEST));
      }
    } catch (error) {
      this.#pending.putBack(taken);
      throw error;
    }
    for (const guild of found.failed) this.#pending.whole.add(guild);
    if (found.failed.size) {
      throw new CompanionError('callback_failed', `facts of ${found.failed.size} guilds are not known`);
    }
  }

  /** @param {string} guild */
  async #sendRemoval(guild) {
    const began = performance.now();
    const data = await this.#request('DELETE', `/bot/guilds/${guild}`);
    this.#sent.delete(guild);
    this.#left.delete(guild);
    this.#tell(this.#options.onPosted, posted('removal', 1, 0, began, data));
  }

  /** What differs from what the service was told, guilds before their members. @param {Pending} taken */
  async #changes(taken) {
    /** @type {Change[]} */
    const changes = [];
    /** @type {Set<string>} */
    const failed = new Set();
    for (const id of new Set([...taken.whole, ...taken.guilds, ...taken.members.keys()])) {
      const guild = this.#guilds.has(id) ? this.#cached(id) : undefined;
      if (!guild) continue; // when it becomes available it is marked again
      const isWhole = taken.whole.has(id) || !this.#sent.has(id);
      if ((isWhole || !this.#facts.has(id)) && !(await this.#askFacts(guild))) {
        failed.add(id);
        continue;
      }
      const sent = this.#sent.get(id);
      if (isWhole) {
        changes.push(...differences(id, sent, this.#describe(guild)));
        this.#loadMembersOf(guild.shardId);
        continue;
      }
      const line = this.#guildLine(guild);
      if (taken.guilds.has(id) && line !== sent?.guild) changes.push({ guild: id, line });
      for (const user of taken.members.get(id) ?? []) changes.push(...this.#memberChange(guild, user));
    }
    return { changes, failed };
  }

  *#memberChange(guild, user) {
    const roles = this.#rolesOf(guild, guild.members.cache.get(user), this.#boundRoles(guild.id));
    const before = this.#sent.get(guild.id)?.members.get(user) ?? [];
    if (String(roles) !== String(before)) {
      yield { guild: guild.id, line: memberLine(guild.id, user, roles), user, roles };
    }
  }

  /** @param {Change[]} changes */
  async #postChanges(changes) {
    const refused = new Set();
    for (;;) {
      const rest = changes.filter(({ guild }) => !refused.has(guild));
      if (!rest.length) return;
      try {
        await this.#post(
          'changes',
          '',
          rest.map(({ line }) => line),
        );
        for (const change of rest) this.#remember(change);
        return;
      } catch (error) {
        refused.add(this.#refusedGuild(error, rest, refused.size));
      }
    }
  }

  /** @param {Change} change */
  #remember({ guild, line, user, roles = [] }) {
    const known = this.#sent.get(guild) ?? { guild: '', members: new Map() };
    this.#sent.set(guild, known);
    if (user === undefined) known.guild = line;
    else if (roles.length) known.members.set(user, roles);
    else known.members.delete(user);
  }

  // The state of now -------------------------------------------------------------------------------------------------

  /** A guild that the cache holds. One that is unavailable is kept as it was; one never seen is only an id. */
  #cached(id) {
    const guild = this.#client.guilds.cache.get(id);
    return guild?.ownerId ? guild : undefined;
  }

  /** Asks the bot about a guild. Where that fails its last word counts; whether there is any. */
  async #askFacts(guild) {
    try {
      this.#facts.set(guild.id, checkedFacts((await this.#options.guild?.(guild)) ?? {}));
    } catch (error) {
      this.#report(new CompanionError('callback_failed', `guild ${guild.id}: ${error}`, { cause: error }));
    }
    return this.#facts.has(guild.id);
  }

  /** @param {string} guild */
  #boundRoles(guild) {
    return new Set(Object.values(this.#facts.get(guild)?.roles ?? {}).flat());
  }

  #isBound(guild, role) {
    return this.#boundRoles(guild).has(role);
  }

  /** @returns {Known} */
  #describe(guild) {
    const members = new Map();
    const bound = this.#boundRoles(guild.id);
    if (this.#seesMembers() && bound.size) {
      for (const member of guild.members.cache.values()) {
        const roles = this.#rolesOf(guild, member, bound);
        if (roles.length) members.set(member.id, roles);
      }
      if (!this.#hasAllMembers(guild)) this.#addNotInCache(guild, bound, members);
    }
    return { guild: this.#guildLine(guild), members };
  }

  /** Members whom the service was told of and the library has not loaded: nobody saw them lose anything. */
  #addNotInCache(guild, bound, members) {
    for (const [user, roles] of this.#sent.get(guild.id)?.members ?? []) {
      const kept = roles.filter((role) => bound.has(role));
      if (!guild.members.cache.has(user) && kept.length) members.set(user, kept);
    }
  }

  /** The ids as the library keeps them: the collection that it shows is made anew at each look. */
  #rolesOf(guild, member, bound) {
    if (!member || !this.#seesMembers()) return [];
    const ids = member._roles ?? [...member.roles.cache.keys()];
    return ids.filter((id) => bound.has(id) && guild.roles.cache.has(id)).sort();
  }

  #guildLine(guild) {
    return JSON.stringify({
      kind: 'guild',
      id: guild.id,
      name: guild.name,
      icon: guild.iconURL({ extension: 'png', size: 1024 }),
      members: Math.max(guild.memberCount ?? 0, 0),
      owner: guild.ownerId,
      ...this.#facts.get(guild.id),
    });
  }

  // Members that the library has not loaded --------------------------------------------------------------------------

  #seesMembers() {
    return this.#client.options.intents.has(GUILD_MEMBERS_INTENT);
  }

  #hasAllMembers(guild) {
    return this.#loaded.has(guild.id) || guild.members.cache.size >= guild.memberCount;
  }

  #withoutMembers(shard) {
    return [...this.#guilds]
      .filter(([, of]) => of === shard)
      .map(([id]) => this.#cached(id))
      .filter((guild) => guild?.available && this.#boundRoles(guild.id).size && !this.#hasAllMembers(guild));
  }

  #membersAreKnown(shard) {
    return this.#seesMembers() && this.#withoutMembers(shard).length === 0;
  }

  /** Asks the gateway for members of guilds with bound roles, one guild after another; then a snapshot again. */
  #loadMembersOf(shard) {
    if (!this.#seesMembers() || this.#loading.has(shard) || this.#stopping) return;
    const guilds = this.#withoutMembers(shard).filter(({ id }) => !this.#notLoadable.has(id));
    if (guilds.length) void this.#loadMembers(shard, guilds);
  }

  async #loadMembers(shard, guilds) {
    this.#loading.add(shard);
    for (const guild of guilds) {
      if (this.#stopping) break;
      try {
        await guild.members.fetch({ time: 60_000 });
        this.#loaded.add(guild.id);
      } catch (error) {
        this.#notLoadable.add(guild.id);
        this.#report(new CompanionError('members_unknown', `guild ${guild.id}: ${error}`, { cause: error }));
      }
    }
    this.#loading.delete(shard);
    this.#mark('shards', shard);
  }

  // Heartbeats -------------------------------------------------------------------------------------------------------

  async #heartbeatLoop() {
    const next = () => Date.now() + this.#options.snapshotEvery * between(0.9, 1.1);
    let snapshotAt = next();
    while (!this.#stop.signal.aborted) {
      let wait = this.#options.heartbeatEvery;
      try {
        await this.#sendHeartbeat();
      } catch (error) {
        const problem = wrapped(error);
        this.#report(problem);
        wait = Math.max(wait, problem.retryAfter ?? 0);
      }
      if (Date.now() >= snapshotAt) {
        snapshotAt = next();
        this.#markEverything();
      }
      await this.#pause(wait);
    }
  }

  async #sendHeartbeat() {
    const memory = Math.round((process.memoryUsage.rss() / 2 ** 20) * 100) / 100;
    const body = JSON.stringify({ memory, started_at: this.#startedAt, shards: this.#shards() });
    const began = performance.now();
    const data = await this.#request('PUT', `/bot/clusters/${this.#clusterName()}/heartbeat`, body, 10_000);
    this.stats.heartbeats += 1;
    this.#tell(this.#options.onPosted, posted('heartbeat', 1, Buffer.byteLength(body), began, data));
  }

  #clusterName() {
    const shards = [...this.#client.ws.shards.keys()];
    return this.#options.cluster ?? `cluster-${shards.length ? Math.min(...shards) : 0}`;
  }

  /** Shards with an acknowledged heartbeat; the others have -1 for their latency. */
  #shards() {
    const shards = {};
    for (const [id, { ping, lastPingTimestamp: sent }] of this.#client.ws.shards) {
      if (!(ping >= 0 && sent > 0)) continue;
      shards[id] = { heartbeatSent: sent / 1000, heartbeatAcknowledged: (sent + ping) / 1000, latency: ping };
    }
    return shards;
  }

  // Requests ---------------------------------------------------------------------------------------------------------

  async #post(what, query, lines) {
    const body = lines.map((line) => `${line}\n`).join('');
    const began = performance.now();
    const data = await this.#request('POST', `/bot/sync${query}`, body, 120_000);
    this.stats.lines += lines.length;
    this.#tell(this.#options.onPosted, posted(what, lines.length, Buffer.byteLength(body), began, data));
  }

  async #request(method, path, body = undefined, timeout = 30_000) {
    this.stats.requests += 1;
    this.stats.bytes += Buffer.byteLength(body ?? '');
    try {
      const answer = await fetch(this.#options.url + path, {
        method,
        body,
        headers: { Authorization: `Bearer ${this.#options.key}` },
        redirect: 'manual', // the key goes nowhere else
        signal: AbortSignal.timeout(timeout),
      });
      const data = await dataOf(answer);
      this.#succeeded();
      return data;
    } catch (error) {
      this.stats.failures += 1;
      this.#downSince ??= Date.now();
      throw error instanceof CompanionError
        ? error
        : new CompanionError('unreachable', String(error), { cause: error });
    }
  }

  /** After a long outage the service may have been restored from a backup: everything is said again. */
  #succeeded() {
    const down = this.#downSince === undefined ? 0 : Date.now() - this.#downSince;
    if (this.#downSince !== undefined && down >= this.#options.snapshotAfterOutage) this.#markEverything();
    this.#downSince = undefined;
  }

  // Hooks ------------------------------------------------------------------------------------------------------------

  /** @param {CompanionError} error */
  #report(error) {
    this.#tell(this.#options.onError ?? ((problem) => console.warn(`companion: ${problem.message}`)), error);
  }

  #tell(hook, what) {
    if (!hook) return;
    // Neither what a hook throws nor what it rejects with may reach the bot.
    new Promise((resolve) => resolve(hook(what))).catch((error) => console.warn('companion: a hook failed', error));
  }

  #shardCount() {
    return this.#client.options.shardCount ?? 1;
  }

  #shardOf(guild) {
    return Number((BigInt(guild) >> 22n) % BigInt(this.#shardCount()));
  }
}

/** @param {string} guild @param {Known | undefined} sent @param {Known} now @returns {Generator<Change>} */
function* differences(guild, sent, now) {
  if (sent?.guild !== now.guild) yield { guild, line: now.guild };
  const before = sent?.members ?? new Map();
  for (const [user, roles] of now.members) {
    if (String(before.get(user) ?? []) !== String(roles)) {
      yield { guild, line: memberLine(guild, user, roles), user, roles };
    }
  }
  for (const user of before.keys()) {
    if (!now.members.has(user)) yield { guild, line: memberLine(guild, user, []), user, roles: [] };
  }
}

/** The bot's facts in the form of the service; throws on what the service would refuse. @param {GuildFacts} given */
function checkedFacts(given) {
  /** @type {Record<string, string[]>} */
  const roles = {};
  for (const [key, ids] of Object.entries(given.roles ?? {})) {
    if (!BOUND_KEYS.includes(key)) throw new Error(`${key} is none of ${BOUND_KEYS.join(', ')}`);
    const bound = [...new Set(Array.from(ids, String))].sort();
    const wrong = bound.find((id) => !/^[1-9]\d{0,19}$/.test(id));
    if (wrong !== undefined) throw new Error(`${wrong} is no id of a role`);
    if (bound.length) roles[key] = bound;
  }
  return { setup: Boolean(given.setup), linked: Boolean(given.linked), roles };
}

function factLine(kind, record) {
  const fields = kind === 'blocked' && typeof record === 'string' ? { user: record } : record;
  return JSON.stringify({ kind, ...fields });
}

function memberLine(guild, user, roles) {
  return JSON.stringify({ kind: 'member', guild, user, roles });
}

/** @returns {Posted} */
function posted(what, lines, size, began, { added = 0, changed = 0, removed = 0 }) {
  return { what, lines, size, seconds: (performance.now() - began) / 1000, added, changed, removed };
}

/** What an answer brings; what is no success, or not from the service, is an error. @param {Response} answer */
async function dataOf(answer) {
  const text = await answer.text();
  let envelope;
  try {
    envelope = JSON.parse(text);
  } catch {
    envelope = undefined;
  }
  const { status } = answer;
  const seconds = answer.headers.get('Retry-After') ?? '';
  const retryAfter = /^\d+$/.test(seconds) ? Number(seconds) * 1000 : undefined;
  if (typeof envelope?.data !== 'object' || envelope.data === null) {
    throw new CompanionError('unreadable', `the answer (${status}) is not the service's`, { status, retryAfter });
  }
  if (status === 200) return envelope.data;
  const { error = 'unreadable', fields } = envelope.data;
  throw new CompanionError(error, envelope.message, { status, retryAfter, fields });
}

/** @param {unknown} error */
function wrapped(error) {
  return error instanceof CompanionError ? error : new CompanionError('kit_failed', String(error), { cause: error });
}

function between(least, most) {
  return least + Math.random() * (most - least);
}
