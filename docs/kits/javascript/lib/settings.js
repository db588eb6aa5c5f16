/** Settings of guilds: publishes their schema, keeps the values in memory, and confirms those that are in force. */

'use strict';

const { CompanionError } = require('./report.js');
const { backOff } = require('./transport.js');

const CONFIRMING_AT_ONCE = 8;
/** Milliseconds. The change stream has a comment every 15 s. */
const MAX_SILENCE = 45_000;

class SettingsProblem extends Error {
  constructor(problems) {
    const texts = Object.entries(problems).map(([key, message]) => `${key}: ${message}`);
    super(texts.join('; '));
    this.name = 'SettingsProblem';
    this.problems = { ...problems };
  }
}

/**
 * Follows the change stream. Only the lines of the service are kept, and parsed on access: at 100,000 guilds they take
 * less memory than objects.
 */
class Settings {
  /** @type {Function | undefined} */ handler;
  #schema;
  #defaults;
  /** Throws on keys of settings that are not declared. All others, such as `then`, are undefined. */ #prototype;
  #world;
  #transport;
  #waiting;
  #reporter;
  #hasReported;
  /** Id of the last change that is in memory. @type {string | undefined} */ #position;
  /** @type {Map<string, string>} */ #lines = new Map();
  /** Guilds to confirm, and the keys that changed. @type {Map<string, Iterable<string>>} */ #due = new Map();
  /** Keys that a handler did not bring into force. @type {Map<string, Iterable<string>>} */ #unapplied = new Map();
  /** @type {Set<string>} */ #queue = new Set();
  /** @type {Set<string>} */ #busy = new Set();

  /** @param {object} parts @param {(guild: string) => boolean} hasReported @param {{ settings: object[] }} options */
  constructor({ world, transport, waiting, reporter }, hasReported, { settings }) {
    this.#schema = JSON.stringify({ sections: settings });
    const fields = settings.flatMap(({ key, fields }) => fields.map((field) => [`${key}.${field.key}`, field]));
    this.#defaults = Object.fromEntries(fields.map(([key, field]) => [key, field.default ?? null]));
    const names = Object.keys(this.#defaults).join(', ') || 'none';
    const get = (_, key) => {
      if (typeof key !== 'string' || !key.includes('.')) return undefined;
      throw new TypeError(`${key} is no setting: there are ${names}`);
    };
    this.#prototype = new Proxy(Object.freeze(Object.create(null)), { get });
    this.#world = world;
    this.#transport = transport;
    this.#waiting = waiting;
    this.#reporter = reporter;
    this.#hasReported = hasReported;
  }

  get isDeclared() {
    return Object.keys(this.#defaults).length > 0;
  }

  /** Returns the settings of a guild, which later changes do not alter. @param {string} guild */
  of(guild) {
    const { values } = this.#read(guild);
    const settings = { ...this.#defaults };
    for (const key of Object.keys(values)) if (key in settings) settings[key] = values[key];
    return Object.freeze(Object.setPrototypeOf(settings, this.#prototype));
  }

  // Values -----------------------------------------------------------------------------------------------------------

  #read(guild) {
    const line = this.#lines.get(guild);
    return line === undefined ? { revision: 0, values: {} } : JSON.parse(line);
  }

  /** Replaces the values of a guild, and returns the keys whose value is different now. */
  #keep(guild, line) {
    const before = this.of(guild);
    if (line === undefined) this.#lines.delete(guild);
    else this.#lines.set(guild, line);
    const now = this.of(guild);
    return Object.keys(now).filter((key) => JSON.stringify(before[key]) !== JSON.stringify(now[key]));
  }

  /** Reads the values of all guilds of this process. A guild whose values were confirmed before is not new. */
  async #load() {
    const { shardIds, shardCount } = this.#world;
    const isPart = shardIds.length < shardCount;
    const queries = isPart ? shardIds.map((shard) => `?shard=${shard}&shards=${shardCount}`) : [''];
    const all = Object.keys(this.#defaults);
    const seen = new Set();
    for (const query of queries) {
      for await (const line of this.#transport.lines(`/bot/settings/guilds${query}`)) {
        const { guild, revision, applied = revision } = JSON.parse(line);
        seen.add(guild);
        const known = this.#lines.get(guild);
        if (known === undefined) {
          this.#lines.set(guild, line);
          // Changed while the bot was away, unknown how.
          if (applied !== revision) this.#isDue(guild, all);
        } else if (known !== line) {
          const isNew = this.#read(guild).revision !== revision;
          const changed = this.#keep(guild, line);
          if (isNew || changed.length) this.#isDue(guild, changed);
        }
      }
    }
    for (const guild of this.#lines.keys()) {
      if (!seen.has(guild)) this.#isDue(guild, this.#keep(guild, undefined));
    }
  }

  async #loadGuild(guild) {
    let data;
    try {
      data = await this.#transport.request('GET', `/bot/guilds/${guild}/settings`);
    } catch (error) {
      if (error.status === 404) return; // the guild is gone: the last values stay
      throw error;
    }
    const { revision, values: all, set } = data;
    const values = Object.fromEntries(set.map((key) => [key, all[key]]));
    this.#isDue(guild, this.#keep(guild, JSON.stringify({ revision, values })));
  }

  // Changes ----------------------------------------------------------------------------------------------------------

  async run() {
    let failures = 0;
    while (!this.#waiting.isStopped) {
      let problem = new CompanionError('unreachable', 'the change stream ended');
      try {
        if (this.#position === undefined) await this.#publish();
        for await (const event of this.#events()) {
          if (event.id !== undefined) {
            await this.#receive(event);
            this.#position = event.id;
          }
          failures = 0;
        }
      } catch (error) {
        if (this.#waiting.isStopped) return;
        problem = CompanionError.wrapping(error);
        this.#reporter.error(problem);
      }
      failures += 1;
      await this.#waiting.pause(backOff(failures, problem));
    }
  }

  /** Sends the schema at each start: one request that changes nothing if the service has it already. */
  async #publish() {
    try {
      await this.#transport.send('settings', 'PUT', '/bot/settings', { body: this.#schema });
    } catch (error) {
      if (!(error instanceof CompanionError) || error.isOutage) throw error;
      const { word, status, fields } = error;
      const wrong = fields.map(({ path, message }) => `; ${path}: ${message}`).join('');
      const message = `the schema of the settings was refused, and the last one stays: ${error.message}${wrong}`;
      this.#reporter.error(new CompanionError(word, message, { status, fields, cause: error }));
    }
  }

  /** Yields the blocks of the change stream. A comment is a block without an id. */
  async *#events() {
    const headers = this.#position === undefined ? {} : { 'Last-Event-ID': this.#position };
    let event;
    for await (const line of this.#transport.lines('/bot/changes?kinds=settings,schema', headers, MAX_SILENCE)) {
      if (line) {
        const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
        event = { ...event, [name]: value };
      } else if (event) {
        yield event;
        event = undefined;
      }
    }
  }

  async #receive({ event: name, data = '{}' }) {
    const { guild, revision } = JSON.parse(data);
    if (name === 'reset') await this.#publish();
    const isAboutAll = name === 'reset' || name === 'schema' || (name === 'settings' && guild === undefined);
    if (this.#position === undefined || isAboutAll) await this.#load();
    else if (name === 'settings') {
      const isOurs = this.#world.shardIds.includes(this.#world.shardOf(guild));
      if (isOurs && revision !== this.#read(guild).revision) await this.#loadGuild(guild);
    }
  }

  // Confirmations ----------------------------------------------------------------------------------------------------

  /** Confirms guilds that waited for the service to know them. @param {Iterable<string>} guilds */
  wereReported(guilds) {
    for (const guild of guilds) if (this.#due.has(guild)) this.#queue.add(guild);
    this.#confirmDue();
  }

  #isDue(guild, changed) {
    const before = this.#due.get(guild);
    this.#due.set(guild, before ? new Set([...before, ...changed]) : changed);
    this.wereReported([guild]);
  }

  #confirmDue() {
    for (const guild of this.#queue) {
      if (this.#busy.size >= CONFIRMING_AT_ONCE || this.#waiting.isStopped) return;
      this.#queue.delete(guild);
      const changed = this.#due.get(guild);
      if (!changed || this.#busy.has(guild) || !this.#hasReported(guild)) continue;
      this.#due.delete(guild);
      this.#busy.add(guild);
      void this.#apply(guild, changed).then(() => {
        this.#busy.delete(guild);
        this.wereReported([guild]); // it may have changed again
      });
    }
  }

  /** Calls the handler, and confirms the revision that it was called with. Never rejects. */
  async #apply(guild, due) {
    const { revision } = this.#read(guild);
    const settings = this.of(guild);
    const changed = new Set([...due, ...(this.#unapplied.get(guild) ?? [])]);
    this.#unapplied.delete(guild);
    let problems = {};
    try {
      if (changed.size) await this.handler?.(guild, settings, changed);
    } catch (cause) {
      if (!(cause instanceof SettingsProblem)) {
        this.#unapplied.set(guild, changed);
        const message = `settings of guild ${guild}: ${cause}`;
        return this.#reporter.error(new CompanionError('callback_failed', message, { cause }));
      }
      problems = cause.problems;
      this.#unapplied.set(guild, Object.keys(problems));
    }
    if (revision > 0) await this.#confirm(guild, revision, problems);
  }

  async #confirm(guild, revision, problems) {
    const listed = Object.entries(problems).map(([key, message]) => ({ key, message }));
    const body = JSON.stringify(listed.length ? { revision, problems: listed } : { revision });
    // Of a guild that is due again, the next revision is confirmed in its place.
    for (let failures = 1; !this.#due.has(guild) && !this.#waiting.isStopped; failures += 1) {
      try {
        return await this.#transport.send('settings', 'PUT', `/bot/guilds/${guild}/settings/applied`, { body });
      } catch (error) {
        if (this.#waiting.isStopped) return;
        const problem = CompanionError.wrapping(error);
        this.#reporter.error(problem);
        if (!problem.isOutage) return;
        await this.#waiting.pause(backOff(failures, problem));
      }
    }
  }
}

module.exports = { Settings, SettingsProblem };
