/** The class that a bot creates. */

'use strict';

const { checkClient, checkedOptions } = require('./arguments.js');
const { Events } = require('./events.js');
const { Facts } = require('./facts.js');
const { Heartbeats } = require('./heartbeat.js');
const { MemberLoader } = require('./members.js');
const { Pending } = require('./pending.js');
const { CompanionError, Reporter } = require('./report.js');
const { Settings } = require('./settings.js');
const { Sync } = require('./sync.js');
const { Transport } = require('./transport.js');
const { Waiting } = require('./waiting.js');
const { World } = require('./world.js');

class Companion {
  #options;
  #reporter;
  #transport;
  #facts;
  #pending;
  #sync;
  #settings;
  #heartbeats;
  #events;
  #waiting = new Waiting();
  #isStarted = false;
  #isStopping = false;

  constructor(client, options) {
    checkClient(client);
    this.#options = checkedOptions(options);
    const waiting = this.#waiting;
    const reporter = (this.#reporter = new Reporter(this.#options));
    const transport = (this.#transport = new Transport(this.#options, reporter));
    const facts = (this.#facts = new Facts(this.#options, reporter));
    const world = new World(client, facts);
    const pending = (this.#pending = new Pending(waiting, this.#options));
    const members = new MemberLoader(world, pending, waiting, reporter);
    const parts = { world, facts, pending, members, transport, waiting, reporter };
    const sync = (this.#sync = new Sync(parts, this.#options));
    const settings = (this.#settings = new Settings(parts, (guild) => sync.hasReported(guild), this.#options));
    sync.onReported = (guilds) => settings.wereReported(guilds);
    this.#heartbeats = new Heartbeats(client, parts, this.#options);
    transport.onReconnected = (milliseconds) => {
      // After a long outage the service may have been restored from a backup.
      if (milliseconds < this.#options.snapshotAfterOutage) return;
      sync.forgetOutlines();
      sync.markEverything();
    };
    const hooks = { beforeEvent: () => this.#start(), beforeDestroy: () => this.stop() };
    this.#events = new Events(client, { ...parts, sync }, hooks);
    if (client.isReady()) {
      world.joinLate();
      sync.markEverything();
      this.#start();
    }
  }

  get stats() {
    return this.#transport.stats;
  }

  get pending() {
    return this.#pending.marks.size;
  }

  settings(guild) {
    const [id] = idsOf([guild]);
    return this.#settings.of(id);
  }

  onSettings(handler) {
    if (typeof handler !== 'function') throw new TypeError('onSettings takes a function');
    this.#settings.handler = handler;
  }

  guildChanged(...guilds) {
    for (const id of idsOf(guilds)) this.#pending.mark('whole', id);
  }

  factsChanged(...kinds) {
    for (const kind of kinds) {
      if (this.#facts.kinds.includes(kind)) this.#pending.mark('kinds', kind);
      else this.#reporter.error(new CompanionError('callback_failed', `there is no callback for ${kind}`));
    }
  }

  async flush(timeout = 60_000) {
    this.#pending.countsAreDue();
    this.#sync.hurry += 1;
    const deadline = Date.now() + timeout;
    try {
      while (!this.#sync.isIdle) {
        if (Date.now() >= deadline || this.#waiting.isStopped) return false;
        this.#waiting.wake();
        await this.#waiting.next(Math.min(deadline - Date.now(), 50));
      }
      return true;
    } finally {
      this.#sync.hurry -= 1;
    }
  }

  async stop() {
    if (this.#isStopping) return;
    this.#isStopping = true;
    try {
      if (this.#isStarted && this.#sync.failures === 0) await this.flush(this.#options.stopWithin);
    } finally {
      this.#events.detach();
      this.#waiting.stop();
      await this.#heartbeats.signOff();
      this.#transport.close();
    }
  }

  #start() {
    if (this.#isStarted || this.#isStopping) return;
    this.#isStarted = true;
    void this.#sync.run();
    void this.#heartbeats.run();
    void this.#takeSnapshots();
    if (this.#settings.isDeclared) void this.#settings.run();
  }

  async #takeSnapshots() {
    while (!this.#waiting.isStopped) {
      await this.#waiting.pause(this.#options.snapshotEvery * (0.9 + 0.2 * Math.random()));
      if (!this.#waiting.isStopped) this.#sync.markEverything();
    }
  }
}

/** Yields the ids of guilds, given as themselves, as ids, or as iterables of either: a map yields both. */
function* idsOf(guilds) {
  for (const guild of guilds) {
    if (typeof guild === 'string') yield guild;
    else if (typeof guild?.id === 'string') yield guild.id;
    else if (typeof guild?.[Symbol.iterator] === 'function') yield* idsOf(guild);
    else throw new TypeError('expected guilds, their ids, or iterables of them');
  }
}

module.exports = { Companion };
