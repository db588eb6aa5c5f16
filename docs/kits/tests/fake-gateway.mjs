/**
 * A chat platform on loopback, as far as a bot library needs one: the gateway and the one request before it.
 *
 * The world is a plain model. Whatever changes it also sends the event that the platform would send, so that a test can
 * compare the model with what others made of the events.
 */

import { createServer } from 'node:http';

import { load } from './modules.mjs';

const { WebSocketServer } = load('ws');
export const BOT = '1000000000000000001';
export const CHANNEL_TYPES = { text: 0, voice: 2, category: 4, news: 5, stage: 13, forum: 15, media: 16 };

/**
 * @typedef {object} Guild
 * @property {string} id
 * @property {string} name
 * @property {string} owner
 * @property {string | null} icon
 * @property {Map<string, Set<string>>} members User to roles.
 * @property {Set<string>} roles
 * @property {Map<string, [string, number]>} labels Names and colours of roles that have them.
 * @property {Map<string, [string, string]>} channels Names and types, in their order.
 * @property {Record<string, string[]>} bound
 * @property {boolean} setup
 * @property {boolean} unavailable
 * @property {boolean} large Its members come only when they are asked for.
 */

/** Serves so many shards. Heartbeats of those in `muted` are never acknowledged. */
export class FakeGateway {
  /** @type {Map<string, Guild>} */ guilds = new Map();
  /** @type {Set<number>} */ muted = new Set();
  events = 0;
  #next = 1n;
  #connections = new Map();
  /** @type {Map<string, [number, string, any][]>} */ #sessions = new Map();
  /** @type {Map<number, string>} */ #current = new Map();
  #random = generator(20);
  #server;

  constructor(shards) {
    this.shards = shards;
  }

  async start() {
    this.#server = createServer((request, response) => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(request.url.endsWith('/gateway/bot') ? this.#description() : {}));
    });
    new WebSocketServer({ server: this.#server }).on('connection', (socket) => this.#serve(socket));
    await new Promise((done) => this.#server.listen(0, '127.0.0.1', done));
    this.port = this.#server.address().port;
  }

  stop() {
    for (const connection of this.#connections.values()) connection.socket.terminate();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  get url() {
    return `ws://127.0.0.1:${this.port}`;
  }

  #description() {
    const limit = { total: 1000, remaining: 1000, reset_after: 0, max_concurrency: 16 };
    return { url: this.url, shards: this.shards, session_start_limit: limit };
  }

  #serve(socket) {
    const connection = { socket, shard: 0, session: '', unanswered: 0 };
    send(connection, 10, { heartbeat_interval: 1_000 });
    socket.on('message', (text) => this.#receive(connection, JSON.parse(text)));
    socket.on('error', () => {});
    socket.on('close', () => {
      if (this.#connections.get(connection.shard) === connection) this.#connections.delete(connection.shard);
    });
  }

  #receive(connection, { op, d: data }) {
    if (op === 1) connection.unanswered += 1;
    else if (op === 2) this.#identify(connection, data);
    else if (op === 6) this.#resume(connection, data);
    else if (op === 8) this.#sendMembers(connection, data);
    // The first heartbeat can come before it is known whose it is.
    if (connection.session && !this.muted.has(connection.shard)) acknowledge(connection);
  }

  /** Acknowledges the heartbeats of a muted shard, past and future. */
  unmute(shard) {
    this.muted.delete(shard);
    acknowledge(this.#connections.get(shard));
  }

  #identify(connection, { shard: [shard] = [0] }) {
    const session = `session-${this.#next++}`;
    Object.assign(connection, { shard, session });
    this.#sessions.set(session, []);
    this.#current.set(shard, session);
    this.#connections.set(shard, connection);
    const mine = [...this.guilds.values()].filter(({ id }) => this.shardOf(id) === shard);
    this.#dispatch(shard, 'READY', {
      v: 10,
      user: user(BOT),
      guilds: mine.map(({ id }) => ({ id, unavailable: true })),
      session_id: session,
      resume_gateway_url: this.url,
      shard: [shard, this.shards],
      application: { id: BOT, flags: 0 },
    });
    for (const guild of mine) {
      if (!guild.unavailable) this.#dispatch(shard, 'GUILD_CREATE', { ...payload(guild), unavailable: false });
    }
  }

  #resume(connection, { session_id: session, seq }) {
    const history = this.#sessions.get(session);
    if (!history) return send(connection, 9, false);
    const [shard] = [...this.#current].find(([, current]) => current === session);
    Object.assign(connection, { shard, session });
    this.#connections.set(shard, connection);
    for (const [sequence, name, data] of history) if (sequence > seq) send(connection, 0, data, name, sequence);
    this.#dispatch(shard, 'RESUMED', {});
  }

  #sendMembers(connection, { guild_id, nonce }) {
    const members = [...this.guilds.get(guild_id).members].map(([id, roles]) => member(id, roles));
    const chunk = { guild_id, members, chunk_index: 0, chunk_count: 1, nonce };
    this.#dispatch(connection.shard, 'GUILD_MEMBERS_CHUNK', chunk);
  }

  /** Sends an event, or keeps it for the connection that resumes the session. */
  #dispatch(shard, name, data) {
    const history = this.#sessions.get(this.#current.get(shard));
    if (!history) return; // READY will say how things are
    this.events += 1;
    history.push([history.length + 1, name, data]);
    const connection = this.#connections.get(shard);
    if (connection) send(connection, 0, data, name, history.length);
  }

  /** The number of the last event of a shard's session; none where there is no session. */
  lastSequence(shard) {
    return this.#sessions.get(this.#current.get(shard))?.length;
  }

  // What the platform does to its bots -------------------------------------------------------------------------------

  /** The bot should resume; what happens until then is sent to it afterwards. */
  askToReconnect(shard) {
    const connection = this.#connections.get(shard);
    this.#connections.delete(shard);
    send(connection, 7, null);
  }

  /** The bot must identify again, and is told of nothing that happens until then. */
  endSession(shard) {
    const connection = this.#connections.get(shard);
    this.#connections.delete(shard);
    this.#sessions.delete(connection.session);
    this.#current.delete(shard);
    send(connection, 9, false);
  }

  // What happens in the world ----------------------------------------------------------------------------------------

  shardOf(guild) {
    return Number((BigInt(guild) >> 22n) % BigInt(this.shards));
  }

  newId() {
    return String(200_000_000_000_000_000n + (this.#next++ << 22n));
  }

  pick(from) {
    return [...from][Math.floor(this.#random() * (from.size ?? from.length))];
  }

  /** @returns {Guild} */
  newGuild({ members = 5, large = false } = {}) {
    const roles = [1, 2, 3, 4].map(() => this.newId());
    const id = this.newId();
    const owner = this.newId();
    const users = [BOT, owner, ...Array.from({ length: members - 2 }, () => this.newId())];
    return {
      id,
      name: `Guild ${id.slice(-3)} «ä»`,
      owner,
      icon: null,
      members: new Map(users.map((user) => [user, new Set(this.#random() < 0.6 ? [this.pick(roles)] : [])])),
      roles: new Set(roles),
      labels: new Map(),
      channels: new Map(),
      bound: this.#random() < 0.6 ? { MOD: [roles[0]], ADMIN: [roles[1]] } : {},
      setup: this.#random() < 0.5,
      unavailable: false,
      large,
    };
  }

  join(guild) {
    this.guilds.set(guild.id, guild);
    this.#tell(guild, 'GUILD_CREATE', payload(guild));
  }

  leave(guild) {
    this.guilds.delete(guild.id);
    this.#tell(guild, 'GUILD_DELETE', { id: guild.id });
  }

  makeUnavailable(guild) {
    guild.unavailable = true;
    this.#tell(guild, 'GUILD_DELETE', { id: guild.id, unavailable: true });
  }

  makeAvailable(guild) {
    guild.unavailable = false;
    this.#tell(guild, 'GUILD_CREATE', { ...payload(guild), unavailable: false });
  }

  rename(guild, name = `Renamed ${this.#next++}`) {
    guild.name = name;
    this.#update(guild);
  }

  changeIcon(guild) {
    guild.icon = this.#random() < 0.5 ? null : String(this.#next++).padStart(32, '0');
    this.#update(guild);
  }

  changeOwner(guild) {
    guild.owner = this.pick([...guild.members.keys()]);
    this.#update(guild);
  }

  addMember(guild) {
    const id = this.newId();
    guild.members.set(id, new Set());
    this.#tell(guild, 'GUILD_MEMBER_ADD', { ...member(id, []), guild_id: guild.id });
  }

  removeMember(guild) {
    const id = this.pick([...guild.members.keys()]);
    if (id === BOT) return;
    guild.members.delete(id);
    this.#tell(guild, 'GUILD_MEMBER_REMOVE', { guild_id: guild.id, user: user(id) });
  }

  changeRoles(guild) {
    const id = this.pick([...guild.members.keys()]);
    this.setRoles(guild, id, new Set([...guild.roles].filter(() => this.#random() < 0.4)));
  }

  setRoles(guild, id, roles) {
    guild.members.set(id, roles);
    this.#tell(guild, 'GUILD_MEMBER_UPDATE', { ...member(id, roles), guild_id: guild.id });
  }

  deleteRole(guild) {
    if (guild.roles.size < 2) return;
    const role = this.pick(guild.roles);
    guild.roles.delete(role);
    for (const roles of guild.members.values()) roles.delete(role);
    this.#tell(guild, 'GUILD_ROLE_DELETE', { guild_id: guild.id, role_id: role });
  }

  /** Creates a role, or changes the name and colour of one. */
  labelRole(guild, id, name, color) {
    const event = guild.roles.has(id) ? 'GUILD_ROLE_UPDATE' : 'GUILD_ROLE_CREATE';
    guild.roles.add(id);
    guild.labels.set(id, [name, color]);
    this.#tell(guild, event, { guild_id: guild.id, role: role(guild, id) });
  }

  /** Creates a channel, or renames one. */
  nameChannel(guild, id, name, type = 'text') {
    const event = guild.channels.has(id) ? 'CHANNEL_UPDATE' : 'CHANNEL_CREATE';
    guild.channels.set(id, [name, type]);
    this.#tell(guild, event, channel(guild, id));
  }

  deleteChannel(guild, id) {
    const data = channel(guild, id);
    guild.channels.delete(id);
    this.#tell(guild, 'CHANNEL_DELETE', data);
  }

  /** Random events, most of them the kinds that are most of a bot's day. @param {number} events */
  async churn(events) {
    const often = ['addMember', 'addMember', 'addMember', 'removeMember', 'removeMember', 'changeRoles', 'changeRoles'];
    const ordinary = [...often, 'changeRoles', 'rename', 'changeIcon', 'changeOwner', 'deleteRole'];
    for (let number = 0; number < events; number += 1) {
      const chance = this.#random();
      const guild = this.pick([...this.guilds.values()]);
      if (chance < 0.01) this.join(this.newGuild());
      else if (guild.unavailable) chance < 0.2 ? this.leave(guild) : this.makeAvailable(guild);
      else if (chance < 0.02) this.leave(guild);
      else if (chance < 0.03) this.makeUnavailable(guild);
      else this[this.pick(ordinary)](guild);
      if (number % 20 === 0) await new Promise((done) => setImmediate(done));
    }
  }

  #update(guild) {
    const { members, member_count, channels, large, ...rest } = payload(guild); // those are not part of this event
    this.#tell(guild, 'GUILD_UPDATE', rest);
  }

  #tell(guild, name, data) {
    this.#dispatch(this.shardOf(guild.id), name, data);
  }
}

/** The same numbers in every run. */
function generator(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function acknowledge(connection) {
  for (; connection.unanswered > 0; connection.unanswered -= 1) send(connection, 11, null);
}

function send({ socket }, op, d, t = null, s = null) {
  if (socket.readyState === 1) socket.send(JSON.stringify({ op, d, t, s }));
}

function user(id) {
  const username = `user_${id.slice(-8)}`;
  return { id, username, discriminator: '0', global_name: null, avatar: null, bot: id === BOT };
}

function member(id, roles) {
  const joined_at = '2026-01-01T00:00:00+00:00';
  return {
    user: user(id),
    roles: [...roles],
    joined_at,
    deaf: false,
    mute: false,
    flags: 0,
    nick: null,
    avatar: null,
    pending: false,
  };
}

/** Name and colour of a role. @param {Guild} guild @param {string} id @returns {[string, number]} */
export function roleLabel(guild, id) {
  const [first] = guild.roles;
  return guild.labels.get(id) ?? [id === first ? 'Moderator' : `role ${id}`, 0];
}

function role(guild, id) {
  const [name, color] = roleLabel(guild, id);
  const colors = { primary_color: color, secondary_color: null, tertiary_color: null };
  const plain = { hoist: false, position: 0, permissions: '0', managed: false, mentionable: false, flags: 0 };
  return { id, name, color, colors, ...plain };
}

function channel(guild, id) {
  const [name, type] = guild.channels.get(id);
  const position = [...guild.channels.keys()].indexOf(id);
  const plain = { permission_overwrites: [], bitrate: 64_000, user_limit: 0 };
  return { id, guild_id: guild.id, name, type: CHANNEL_TYPES[type], position, ...plain };
}

/** Every guild with channels has a thread in the first one: the library's cache of channels has threads too. */
function threads(guild) {
  return [...guild.channels.keys()].slice(0, 1).map((parent) => ({
    id: String(BigInt(parent) + 1n),
    guild_id: guild.id,
    parent_id: parent,
    owner_id: guild.owner,
    type: 11,
    name: 'a thread',
    thread_metadata: { archived: false, auto_archive_duration: 60, archive_timestamp: '2026-01-01T00:00:00+00:00' },
  }));
}

/** @param {Guild} guild */
function payload(guild) {
  const members = [...guild.members].filter(([id]) => !guild.large || id === BOT);
  const empty = [
    'emojis',
    'stickers',
    'features',
    'voice_states',
    'presences',
    'stage_instances',
  ];
  const zero = [
    'afk_timeout',
    'verification_level',
    'default_message_notifications',
    'explicit_content_filter',
    'mfa_level',
  ];
  return {
    id: guild.id,
    name: guild.name,
    icon: guild.icon,
    owner_id: guild.owner,
    member_count: guild.members.size,
    large: guild.large,
    roles: [guild.id, ...guild.roles].map((id) => role(guild, id)),
    channels: [...guild.channels.keys()].map((id) => channel(guild, id)),
    threads: threads(guild),
    members: members.map(([id, roles]) => member(id, roles)),
    ...Object.fromEntries(empty.map((name) => [name, []])),
    ...Object.fromEntries(zero.map((name) => [name, 0])),
    guild_scheduled_events: [],
    soundboard_sounds: [],
    nsfw_level: 0,
    premium_tier: 0,
    preferred_locale: 'en-GB',
    system_channel_flags: 0,
    joined_at: '2026-01-01T00:00:00+00:00',
  };
}
