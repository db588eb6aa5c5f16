/** What only the bot knows: facts about guilds, and records of the kinds that are not read from the platform. */

'use strict';

const { FACT_KINDS } = require('./arguments.js');
const { CompanionError } = require('./report.js');

const BOUND_KEYS = ['MOD', 'ADMIN', 'ERLC_STAFF', 'ERLC_ADMIN', 'ERLC_MANAGER', 'SESSION_STARTER'];

/** Calls the bot's callbacks and keeps the last facts of each guild. */
class Facts {
  /** The kinds with a callback. @type {string[]} */ kinds;
  #options;
  #reporter;
  #known = new Map();

  constructor(options, reporter) {
    this.#options = options;
    this.#reporter = reporter;
    this.kinds = FACT_KINDS.filter((kind) => options[kind]);
  }

  /** Returns the last facts of a guild, as fields of its record. @param {string} guild */
  of(guild) {
    return this.#known.get(guild);
  }

  forget(guild) {
    this.#known.delete(guild);
  }

  /** @param {string} guild @returns {Set<string>} */
  boundRoles(guild) {
    return new Set(Object.values(this.#known.get(guild)?.roles ?? {}).flat());
  }

  /** Asks the bot about guilds. If that fails for a guild, its last facts remain. */
  async ask(guilds) {
    const { guild: one, guilds: many } = this.#options;
    let answers;
    try {
      answers = many && guilds.length ? await many(guilds) : {};
      answers = answers instanceof Map ? answers : new Map(Object.entries(answers));
    } catch (error) {
      return this.#failed(`${guilds.length} guilds`, error);
    }
    const found = new Map();
    for (const guild of guilds) {
      try {
        found.set(guild.id, checked((many ? answers.get(guild.id) : await one?.(guild)) ?? {}));
      } catch (error) {
        this.#failed(`guild ${guild.id}`, error);
      }
    }
    for (const [id, facts] of found) this.#known.set(id, facts);
  }

  /** Returns all records of a kind as lines of a sync, or `undefined` if the callback failed. @param {string} kind */
  async linesOf(kind) {
    try {
      return Array.from(await this.#options[kind](), (record) => recordLine(kind, record));
    } catch (error) {
      return this.#failed(kind, error);
    }
  }

  #failed(what, cause) {
    this.#reporter.error(new CompanionError('callback_failed', `${what}: ${cause}`, { cause }));
  }
}

/** Returns facts as fields of a record; throws on what the service would refuse. */
function checked(given) {
  const roles = {};
  for (const [key, ids] of Object.entries(given.roles ?? {})) {
    if (!BOUND_KEYS.includes(key)) throw new Error(`${key} is none of ${BOUND_KEYS.join(', ')}`);
    const bound = [...new Set(Array.from(ids ?? [], String))].sort();
    const wrong = bound.find((id) => !/^[1-9]\d{0,19}$/.test(id));
    if (wrong !== undefined) throw new Error(`${wrong} is no id of a role`);
    if (bound.length) roles[key] = bound;
  }
  return { setup: Boolean(given.setup), linked: Boolean(given.linked), roles };
}

function recordLine(kind, record) {
  const fields = kind === 'blocked' && typeof record === 'string' ? { user: record } : record;
  return JSON.stringify({ kind, ...fields });
}

module.exports = { Facts };
