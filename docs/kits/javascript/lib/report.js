/** Errors, and the log and hooks that the bot is told through. */

'use strict';

class CompanionError extends Error {
  constructor(word, message, { status, retryAfter, fields = [], cause } = {}) {
    super(`${word}: ${message}`, { cause });
    this.name = 'CompanionError';
    this.word = word;
    this.status = status;
    this.retryAfter = retryAfter;
    this.fields = fields;
  }

  /** Returns `error` itself if it is a `CompanionError`; everything else is a defect of the kit. */
  static wrapping(error) {
    return error instanceof CompanionError ? error : new CompanionError('kit_failed', String(error), { cause: error });
  }

  get isOutage() {
    const { status, word } = this;
    return status === undefined || status >= 500 || [401, 403, 429].includes(status) || word === 'unreadable';
  }

  get wrongLine() {
    for (const { path } of this.fields) {
      const match = /^line (\d+)/.exec(path);
      if (match) return Number(match[1]);
    }
    return undefined;
  }
}

/** Logs errors and calls the hooks. No exception of a hook reaches the bot. */
class Reporter {
  #options;

  /** @param {{ log: { warn: Function, info: Function }, onError?: Function, onPosted?: Function }} options */
  constructor(options) {
    this.#options = options;
  }

  error(error) {
    this.#log('warn', error.message);
    this.#call(this.#options.onError, error);
  }

  info(message) {
    this.#log('info', message);
  }

  posted(posted) {
    this.#call(this.#options.onPosted, posted);
  }

  #log(level, message) {
    try {
      this.#options.log[level](`companion: ${message}`);
    } catch {
      // There is no other place to report it.
    }
  }

  /** Neither an exception nor a rejection of a hook may reach the bot. */
  #call(hook, argument) {
    if (!hook) return;
    new Promise((resolve) => resolve(hook(argument))).catch((error) => this.#log('warn', `a hook failed: ${error}`));
  }
}

module.exports = { CompanionError, Reporter };
