/** Heartbeats: memory, start and shards of this process. */

'use strict';

const { CompanionError } = require('./report.js');

const POLL = 100;
const SIGN_OFF_WITHIN = 2_000;

/** Sends a heartbeat at a fixed interval. */
class Heartbeats {
  #client;
  #world;
  #transport;
  #waiting;
  #reporter;
  #options;
  #startedAt = Math.floor(Date.now() / 1000);
  /** The path of the cluster, once the service knows it. */
  #reported = null;
  #sending = Promise.resolve();

  constructor(client, { world, transport, waiting, reporter }, options) {
    this.#client = client;
    this.#world = world;
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
        this.#sending = this.#send();
        await this.#sending;
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
    const path = `/bot/clusters/${this.#name()}`;
    const body = JSON.stringify(this.#report());
    this.#reported = null;
    await this.#transport.send('heartbeat', 'PUT', `${path}/heartbeat`, { body, timeout: 10_000 });
    this.#reported = path;
    this.#transport.stats.heartbeats += 1;
  }

  /**
   * Tells the service that this process stops on purpose. Call it after the kit has stopped: a later heartbeat would
   * bring the cluster back. Without an answer it counts as silent later.
   */
  async signOff() {
    const late = new Promise((done) => setTimeout(done, SIGN_OFF_WITHIN).unref());
    await Promise.race([this.#sending.catch(() => {}), late]);
    if (this.#reported === null) return;
    await this.#transport.send('sign-off', 'DELETE', this.#reported, { timeout: SIGN_OFF_WITHIN }).catch(() => {});
  }

  #report() {
    const memory = Math.round((process.memoryUsage.rss() / 2 ** 20) * 100) / 100;
    const { shardCount } = this.#world;
    const shards = this.#shards();
    return { memory, started_at: this.#startedAt, shards, shard_count: shardCount, sent_at: Date.now() / 1000 };
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
