/** Requests to the management API, and outages of it. */

'use strict';

const { version } = require('../package.json');
const { CompanionError } = require('./report.js');

const MAX_REFUSALS = 10;
const MAX_BACK_OFF = 60_000;
const REASONS = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network unreachable',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'host not found for now',
  ETIMEDOUT: 'connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
  UND_ERR_SOCKET: 'connection closed before the answer',
};

/** A request in flight, aborted after so many milliseconds without a `restart`. */
class Call {
  isLate = false;
  #abort = new AbortController();
  #timeout;
  #timer;

  constructor(timeout) {
    this.#timeout = timeout;
    this.restart();
  }

  get signal() {
    return this.#abort.signal;
  }

  restart() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.isLate = true;
      this.abort();
    }, this.#timeout);
  }

  abort() {
    this.#abort.abort();
  }

  end() {
    clearTimeout(this.#timer);
  }

  /** Returns why it failed. */
  reason(error) {
    return this.isLate ? `no answer within ${this.#timeout / 1000} s` : reasonOf(error);
  }
}

/** Sends requests. Retries are the caller's. */
class Transport {
  stats = { requests: 0, failures: 0, bytes: 0, lines: 0, snapshots: 0, heartbeats: 0 };
  /** Called with the milliseconds of an outage at the first request that succeeds after it. */
  onReconnected = (_milliseconds) => {};
  #url;
  #host;
  #headers;
  #reporter;
  #inFlight = new Set();
  #downSince;

  constructor({ url, key }, reporter) {
    this.#url = url;
    this.#host = new URL(url).host;
    this.#headers = { Authorization: `Bearer ${key}`, 'User-Agent': `companion-discord-js/${version}` };
    this.#reporter = reporter;
  }

  /** Posts lines to `/bot/sync`, as one atomic change. */
  async sync(what, query, lines) {
    const body = lines.map((line) => `${line}\n`).join('');
    await this.send(what, 'POST', `/bot/sync${query}`, { body, lines: lines.length, timeout: 120_000 });
    this.stats.lines += lines.length;
  }

  /**
   * Posts lines of guilds, and returns the guilds that are left out because the service refused a line.
   *
   * One wrong line refuses a whole sync. Without the refused guilds the rest is sent again, but with no query: what is
   * left out must not be removed.
   * @param {string} what @param {string} query @param {import('./records.js').Change[]} changes
   */
  async syncGuilds(what, query, changes) {
    const refused = new Set();
    for (;;) {
      const rest = changes.filter(({ guild }) => !refused.has(guild));
      if (refused.size && !rest.length) return refused;
      const lines = rest.map(({ line }) => line);
      try {
        await this.sync(what, refused.size ? '' : query, lines);
        return refused;
      } catch (error) {
        const wrong = rest[(error.wrongLine ?? 0) - 1];
        if (!wrong || refused.size >= MAX_REFUSALS) throw error;
        this.#reporter.error(error);
        refused.add(wrong.guild);
      }
    }
  }

  /** Sends a change and calls the hook `onPosted`. */
  async send(what, method, path, { body, lines = 1, timeout } = {}) {
    const began = performance.now();
    const { added = 0, changed = 0, removed = 0 } = await this.request(method, path, { body, timeout });
    const seconds = (performance.now() - began) / 1000;
    this.#reporter.posted({ what, lines, size: Buffer.byteLength(body ?? ''), seconds, added, changed, removed });
  }

  /** Returns the `data` of the answer; rejects with a `CompanionError`. */
  async request(method, path, { body, timeout = 30_000 } = {}) {
    this.stats.bytes += Buffer.byteLength(body ?? '');
    const call = this.#begin(timeout);
    try {
      const data = await dataOf(await this.#fetch(call, path, { method, body }));
      this.#succeeded();
      return data;
    } catch (cause) {
      throw this.#failed(call, cause);
    } finally {
      this.#end(call);
    }
  }

  /** Yields the lines of an answer as they come; throws a `CompanionError`, also after so many silent milliseconds. */
  async *lines(path, headers = {}, silence = 30_000) {
    const call = this.#begin(silence);
    try {
      const answer = await this.#fetch(call, path, { headers });
      if (answer.status !== 200) await dataOf(answer);
      this.#succeeded();
      let rest = Buffer.alloc(0);
      for await (const part of answer.body) {
        call.restart();
        const bytes = Buffer.concat([rest, part]);
        let start = 0;
        for (let end = bytes.indexOf('\n'); end >= 0; end = bytes.indexOf('\n', start)) {
          yield bytes.toString('utf8', start, end);
          start = end + 1;
        }
        rest = bytes.subarray(start);
      }
      if (rest.length) yield rest.toString();
    } catch (cause) {
      throw this.#failed(call, cause);
    } finally {
      call.abort(); // the caller may not want the rest
      this.#end(call);
    }
  }

  /** Aborts the requests in flight. */
  close() {
    for (const call of this.#inFlight) call.abort();
  }

  #begin(timeout) {
    this.stats.requests += 1;
    const call = new Call(timeout);
    this.#inFlight.add(call);
    return call;
  }

  #fetch({ signal }, path, { headers = {}, ...options }) {
    const redirect = 'manual'; // the key goes nowhere else
    return fetch(this.#url + path, { ...options, headers: { ...this.#headers, ...headers }, redirect, signal });
  }

  #end(call) {
    call.end();
    this.#inFlight.delete(call);
  }

  /** Returns the error of a call. */
  #failed(call, cause) {
    const isOurs = cause instanceof CompanionError;
    const message = `cannot reach ${this.#host}: ${call.reason(cause)}`;
    const error = isOurs ? cause : new CompanionError('unreachable', message, { cause });
    this.stats.failures += 1;
    if (error.isOutage) this.#downSince ??= Date.now();
    return error;
  }

  #succeeded() {
    if (this.#downSince === undefined) return;
    const milliseconds = Date.now() - this.#downSince;
    this.#downSince = undefined;
    this.#reporter.info(`connected again to ${this.#host} after ${Math.round(milliseconds / 1000)} s`);
    this.onReconnected(milliseconds);
  }
}

/** Returns the milliseconds to wait after so many failures in a row. */
function backOff(failures, { retryAfter = 0 }) {
  const doubled = Math.min(MAX_BACK_OFF, 500 * 2 ** Math.min(failures, 10));
  // Jitter keeps many bots from returning at the same moment.
  return Math.max(doubled * between(0.5, 1), retryAfter * between(1, 1.1));
}

function between(least, most) {
  return least + Math.random() * (most - least);
}

const CHECK_URL = 'check that url is the address of the management API';

/** Returns why a request failed, without its address. */
function reasonOf(error) {
  const cause = error.cause ?? error;
  const code = cause.code ?? cause.errors?.[0]?.code;
  return REASONS[code] ?? (cause.message || code || String(error));
}

/** Returns the `data` of the envelope; throws if the status is an error or the answer not the service's. */
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
    throw new CompanionError('unreadable', `the answer (${status}) is not the service's: ${CHECK_URL}`, { status, retryAfter });
  }
  if (status === 200) return envelope.data;
  const { error = 'unreadable', fields } = envelope.data;
  // Every path that the kit calls exists.
  const hint = error === 'not_found' ? ` C${CHECK_URL.slice(1)}.` : '';
  throw new CompanionError(error, envelope.message + hint, { status, retryAfter, fields });
}

module.exports = { Transport, backOff };
