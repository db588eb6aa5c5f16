/** Heartbeats: memory, start and shards of this process. */

'use strict';

const { CompanionError } = require('./report.js');

const POLL = 100;

/** Sends a heartbeat at a fixed interval. */
class Heartbeats {
  #client;
  #transport;
  #waiting;
  #reporter;
  #options;
  #startedAt = Math.floor(Date.now() / 1000);

  constructor(client, { transport, waiting, reporter }, options) {
    this.#client = client;
    this.#transport = transport;
    this.#waiting = waiting;
    this.#reporter = reporter;
    this.#options = options;
  }

  async run() {
    await this.#allAcknowledged();
    while (!this.#waiting.isStopped) {
      let wait = this.#options.heartbeatEvery;
      try {
        await this.#send();
      } catch (error) {
        if (this.#waiting.isStopped) return;
        const problem = CompanionError.wrapping(error);
        this.#reporter.error(problem);
        wait = Math.max(wait, problem.retryAfter ?? 0);
      }
      await this.#waiting.pause(wait);
    }
  }

  /**
   * Waits until every shard has an acknowledged heartbeat, so that a start does not look like missing shards. The
   * bound is below the 90 s after which the service takes the process for silent.
   */
  async #allAcknowledged() {
    const deadline = Date.now() + this.#options.firstHeartbeatWithin;
    const isComplete = () => {
      const { size } = this.#client.ws.shards;
      return size > 0 && Object.keys(this.#shards()).length === size;
    };
    while (Date.now() < deadline && !this.#waiting.isStopped && !isComplete()) await this.#waiting.pause(POLL);
  }

  async #send() {
    const path = `/bot/clusters/${this.#name()}/heartbeat`;
    await this.#transport.send('heartbeat', 'PUT', path, { body: JSON.stringify(this.#report()), timeout: 10_000 });
    this.#transport.stats.heartbeats += 1;
  }

  #report() {
    const memory = Math.round((process.memoryUsage.rss() / 2 ** 20) * 100) / 100;
    return { memory, started_at: this.#startedAt, shards: this.#shards() };
  }

  #name() {
    const shards = [...this.#client.ws.shards.keys()];
    return this.#options.cluster ?? `cluster-${shards.length ? Math.min(...shards) : 0}`;
  }

  /** Returns the shards with an acknowledged heartbeat; the others have a latency of -1. */
  #shards() {
    const shards = {};
    for (const [id, { ping, lastPingTimestamp: sent }] of this.#client.ws.shards) {
      if (!(ping >= 0 && sent > 0)) continue;
      shards[id] = { heartbeatSent: sent / 1000, heartbeatAcknowledged: (sent + ping) / 1000, latency: ping };
    }
    return shards;
  }
}

module.exports = { Heartbeats };
