// The four GET endpoints of the public API on Fastify and better-sqlite3.

import Database from 'better-sqlite3'
import Fastify from 'fastify'
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, renameSync, rmSync } from 'node:fs'
import { createInterface } from 'node:readline'

const VERSION = {
  name: '1.0.0',
  branch: 'main',
  commit: {
    sha: '0000000000000000000000000000000000000000',
    message: 'Answer like Companion',
    author: 'unknown',
    timestamp: 1700000000
  }
}
const PICTURES = 'https://cdn.discordapp.com'
const SILENT_AFTER = 90e6
const SESSION_LIFETIME = 30 * 86400e6
const SESSION_IDLE = 7 * 86400e6
const ROLES = ['Owner', 'Manager', 'Administrator', 'Moderator']
const ADMINISTRATOR_OR_MANAGE_SERVER = 0x28n

// Snowflakes are text: they do not fit into JavaScript's numbers.
const TABLES = `
  CREATE TABLE guilds (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, icon TEXT, members INTEGER NOT NULL, owner TEXT NOT NULL,
    setup INTEGER NOT NULL, linked INTEGER NOT NULL, bindings TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE members (
    guild TEXT NOT NULL, user TEXT NOT NULL, roles TEXT NOT NULL, PRIMARY KEY (user, guild)
  ) WITHOUT ROWID;
  CREATE TABLE subscriptions (
    user TEXT PRIMARY KEY, guilds TEXT NOT NULL, slots INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE subscription_guilds (
    guild TEXT NOT NULL, user TEXT NOT NULL, PRIMARY KEY (guild, user)
  ) WITHOUT ROWID;
  CREATE TABLE staff (user TEXT PRIMARY KEY, permissions TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE blocked (user TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE feedback (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, feedback TEXT NOT NULL, rating INTEGER NOT NULL,
    timestamp INTEGER NOT NULL, submitter_username TEXT NOT NULL, submitter_name TEXT NOT NULL,
    submitter_id TEXT NOT NULL, submitter_avatar TEXT NOT NULL
  );
  -- Positive entries, numbered from 0 without holes.
  CREATE TABLE positive_feedback (slot INTEGER PRIMARY KEY, entry INTEGER NOT NULL);
  CREATE TABLE team (
    username TEXT NOT NULL, name TEXT NOT NULL, avatar TEXT NOT NULL, discord_id TEXT NOT NULL, role TEXT NOT NULL,
    color TEXT NOT NULL, category TEXT NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (category, discord_id)
  ) WITHOUT ROWID;
  CREATE INDEX team_in_order ON team (category, position, name, length(discord_id), discord_id);
  CREATE TABLE clusters (
    id TEXT PRIMARY KEY, memory REAL NOT NULL, started_at INTEGER NOT NULL, shards TEXT NOT NULL,
    received_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE sessions (
    id BLOB PRIMARY KEY, user TEXT NOT NULL, created_at INTEGER NOT NULL, last_seen_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE grants (user TEXT PRIMARY KEY, fetched_at INTEGER) WITHOUT ROWID;
  CREATE TABLE listed_guilds (
    user TEXT NOT NULL, guild TEXT NOT NULL, owner INTEGER NOT NULL, manages INTEGER NOT NULL,
    PRIMARY KEY (user, guild)
  ) WITHOUT ROWID;
`

// Without ANALYZE: where there are its samples, better-sqlite3's build of SQLite plans a statement anew for each parameter.
const DERIVED = `
  INSERT INTO positive_feedback SELECT row_number() OVER () - 1, number FROM feedback WHERE rating >= 4;
  INSERT INTO subscription_guilds
    SELECT DISTINCT named.value, subscriptions.user FROM subscriptions, json_each(subscriptions.guilds) AS named;
`

// Fastify compiles its serialisers from these.
const text = { type: 'string' }
const whole = { type: 'integer' }
const number = { type: 'number' }
const flag = { type: 'boolean' }
const list = items => ({ type: 'array', items })
const object = properties => ({ type: 'object', properties })

const envelope = data => object({ code: whole, message: text, data })
const refusal = envelope(object({ error: text, request_id: text }))
const answering = data => ({ response: { 200: envelope(data), '4xx': refusal } })

const flags = names => object(Object.fromEntries(names.map(name => [name, flag])))

const feedbackSchema = answering(list(object({
  feedback: text,
  rating: whole,
  timestamp: whole,
  submitter: object({ username: text, name: text, id: text, avatar: text })
})))

const teamSchema = answering(list(object({
  username: text,
  name: text,
  avatar: text,
  discord_id: text,
  role: text,
  color: text,
  category: text,
  position: whole
})))

const statusSchema = answering(object({
  version: object({
    name: text,
    branch: text,
    commit: object({ sha: text, message: text, author: text, timestamp: whole })
  }),
  resources: object({ memory: number }),
  health: object({
    api: object({ latency: object({ response: { type: 'number', nullable: true }, process: number }) }),
    bot: object({
      shards: {
        type: 'object',
        additionalProperties: object({ heartbeatSent: number, heartbeatAcknowledged: number, latency: number })
      },
      uptime: object({ readable: text, epoch: whole })
    })
  })
}))

const guildsSchema = answering(list(object({
  name: text,
  id: text,
  icon: text,
  members: whole,
  owner: text,
  role: text,
  service: flag,
  plus: object({ plus: object({ userid: text, guilds: list(text), slots: whole }), active: flag }),
  permissions: flags([
    'ERLC_STAFF', 'SERVICE_PLUS_GUILD', 'QUALITY_ASSURANCE', 'ERLC_ADMIN', 'DOCWRITER', 'FOUNDER', 'ERLC_MANAGER',
    'MANAGE_SERVER', 'EXECUTIVE', 'BOT_DEVELOPER', 'WEB_DEVELOPER', 'SETUP', 'SESSION_STARTER', 'MOD', 'SUPPORT',
    'MANAGEMENT', 'ADMIN', 'SERVICE_STAFF', 'ERLC_LINKED', 'SERVICE_PLUS_MEMBER'
  ])
})))

const db = await open(process.env.DATABASE, process.env.WORLD)

const lastSlot = db.prepare('SELECT max(slot) FROM positive_feedback').pluck()
const entriesInSlots = db.prepare(`
  SELECT slot, feedback, rating, timestamp, submitter_username, submitter_name, submitter_id, submitter_avatar
  FROM positive_feedback JOIN feedback ON number = entry WHERE slot IN (?, ?, ?, ?, ?)`)
const team = db.prepare(`
  SELECT username, name, avatar, discord_id, role, color, category, position
  FROM team ORDER BY category, position, name, length(discord_id), discord_id`)
const liveClusters = db.prepare(`
  SELECT memory, started_at, shards FROM clusters WHERE received_at > ? ORDER BY received_at, id`)
const liveSession = db.prepare(`
  SELECT sessions.user, blocked.user IS NOT NULL AS blocked, grants.fetched_at, staff.permissions,
    coalesce(slots > 0 OR guilds <> '[]', 0) AS subscribed
  FROM sessions
    LEFT JOIN blocked ON blocked.user = sessions.user
    LEFT JOIN grants ON grants.user = sessions.user
    LEFT JOIN staff ON staff.user = sessions.user
    LEFT JOIN subscriptions ON subscriptions.user = sessions.user
  WHERE sessions.id = ? AND created_at > ? AND last_seen_at > ?`)
// Of several subscriptions that name a guild, the one of the lowest user id counts.
const guildsOf = db.prepare(`
  SELECT guilds.id, guilds.name, guilds.icon, guilds.members, guilds.owner, guilds.setup, guilds.linked,
    guilds.bindings, listed.owner AS owns, listed.manages, members.roles, plus.user AS payer,
    plus.guilds AS premium, plus.slots
  FROM listed_guilds AS listed
    JOIN guilds ON guilds.id = listed.guild
    LEFT JOIN members ON members.user = listed.user AND members.guild = listed.guild
    LEFT JOIN subscriptions AS plus ON plus.user = (
      SELECT user FROM subscription_guilds WHERE guild = listed.guild ORDER BY length(user), user LIMIT 1)
  WHERE listed.user = ?
  ORDER BY guilds.name, length(guilds.id), guilds.id`)

const app = Fastify({ requestIdHeader: 'x-request-id' })

app.get('/feedback', { schema: feedbackSchema }, (request, reply) => {
  const slots = draw(5, (lastSlot.get() ?? -1) + 1)
  const found = entriesInSlots.all(slots)
  const data = slots.filter(slot => slot !== null).map(slot => shownEntry(found.find(row => row.slot === slot)))
  reply.header('cache-control', 'no-store')
  return reply.send({ code: 200, message: 'What people like about the bot.', data })
})

app.get('/team', { schema: teamSchema }, (request, reply) => {
  reply.header('cache-control', 'max-age=60')
  return reply.send({ code: 200, message: 'The team that maintains the bot.', data: team.all() })
})

app.decorateRequest('receivedAt', 0)
const noteReceipt = (request, reply, done) => {
  request.receivedAt = performance.now()
  done()
}

app.get('/', { schema: statusSchema, onRequest: noteReceipt }, (request, reply) => {
  const now = Date.now()
  const bot = botStatus(liveClusters.all(now * 1000 - SILENT_AFTER), now)
  const process = performance.now() - request.receivedAt
  const latency = { response: sinceSent(request.headers['sent-epoch'], now - process), process: rounded(process) }
  reply.header('cache-control', 'no-cache')
  return reply.send({
    code: 200,
    message: 'The service is online.',
    data: {
      version: VERSION,
      resources: { memory: bot.memory },
      health: { api: { latency }, bot: { shards: bot.shards, uptime: bot.uptime } }
    }
  })
})

app.get('/guilds', { schema: guildsSchema }, (request, reply) => {
  const { token } = request.headers
  if (!token) return refuse(request, reply, 401, 'token_missing', 'Send the session token in the header Token.')
  const now = Date.now() * 1000
  const id = createHash('sha256').update(token).digest()
  const session = liveSession.get(id, now - SESSION_LIFETIME, now - SESSION_IDLE)
  if (session?.blocked) return refuse(request, reply, 403, 'blocked', 'This user may not use the service.')
  if (session === undefined || session.fetched_at === null) {
    return refuse(request, reply, 401, 'token_invalid',
      'The session token is malformed, unknown, expired or revoked. Sign in again.')
  }
  reply.header('cache-control', 'private, no-store')
  reply.header('age', Math.max(0, Math.floor((now - session.fetched_at) / 1e6)))
  return reply.send({ code: 200, message: 'The guilds that you run and that have the bot.', data: listing(session) })
})

app.setNotFoundHandler((request, reply) => refuse(request, reply, 404, 'not_found', 'There is nothing at this path.'))

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })

async function open (path, world) {
  if (!existsSync(path)) {
    const unfinished = `${path}.new`
    rmSync(unfinished, { force: true })
    await fill(unfinished, world)
    renameSync(unfinished, path)
  }
  const db = new Database(path)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  db.pragma('cache_size = -65536')
  db.pragma('mmap_size = 1073741824')
  return db
}

async function fill (path, world) {
  const db = new Database(path)
  // No reader opens the file before it is complete, so it needs no journal.
  db.pragma('journal_mode = OFF')
  db.pragma('synchronous = OFF')
  db.pragma('cache_size = -262144')
  db.exec('BEGIN')
  db.exec(TABLES)
  const write = writers(db)
  for await (const line of createInterface({ input: createReadStream(world), crlfDelay: Infinity })) {
    if (line === '') continue
    const record = JSON.parse(line)
    write[record.kind]?.(record)
  }
  db.exec(DERIVED)
  db.exec('COMMIT')
  db.close()
}

/** How a record of each kind is written. */
function writers (db) {
  const replace = (table, ...columns) => {
    const places = columns.map(() => '?').join(', ')
    return db.prepare(`INSERT OR REPLACE INTO ${table} (${columns.join(', ')}) VALUES (${places})`)
  }
  const guild = replace('guilds', 'id', 'name', 'icon', 'members', 'owner', 'setup', 'linked', 'bindings')
  const member = replace('members', 'guild', 'user', 'roles')
  const subscription = replace('subscriptions', 'user', 'guilds', 'slots')
  const staff = replace('staff', 'user', 'permissions')
  const blocked = replace('blocked', 'user')
  const feedback = replace('feedback', 'id', 'feedback', 'rating', 'timestamp', 'submitter_username',
    'submitter_name', 'submitter_id', 'submitter_avatar')
  const team = replace('team', 'username', 'name', 'avatar', 'discord_id', 'role', 'color', 'category', 'position')
  const cluster = replace('clusters', 'id', 'memory', 'started_at', 'shards', 'received_at')
  const session = replace('sessions', 'id', 'user', 'created_at', 'last_seen_at')
  const grant = replace('grants', 'user', 'fetched_at')
  const forgetList = db.prepare('DELETE FROM listed_guilds WHERE user = ?')
  const listed = replace('listed_guilds', 'user', 'guild', 'owner', 'manages')
  return {
    guild: it => guild.run(it.id, it.name, it.icon, it.members, it.owner, Number(it.setup), Number(it.linked),
      JSON.stringify(it.roles)),
    member: it => member.run(it.guild, it.user, JSON.stringify(it.roles)),
    plus: it => subscription.run(it.user, JSON.stringify([...new Set(it.guilds)]), it.slots),
    staff: it => staff.run(it.user, JSON.stringify(it.permissions)),
    blocked: it => blocked.run(it.user),
    feedback: it => feedback.run(it.id, it.feedback, it.rating, Math.trunc(it.timestamp), it.submitter.username,
      it.submitter.name, it.submitter.id, it.submitter.avatar),
    team: it => team.run(it.username, it.name, it.avatar, it.discord_id, it.role, it.color, it.category, it.position),
    heartbeat: it => cluster.run(it.cluster, it.memory, Math.trunc(it.started_at), JSON.stringify(it.shards),
      it.received_at ?? Date.now() * 1000),
    session: it => session.run(Buffer.from(it.id, 'hex'), it.user, it.created_at, it.last_seen_at),
    grant: it => {
      grant.run(it.user, it.list?.fetched_at)
      forgetList.run(it.user)
      for (const { id, owner, permissions } of it.list?.guilds ?? []) {
        const manages = (BigInt(permissions) & ADMINISTRATOR_OR_MANAGE_SERVER) !== 0n
        listed.run(it.user, id, Number(owner), Number(manages))
      }
    }
  }
}

/** So many distinct numbers below `end`, in random order; null where there are not enough. */
function draw (count, end) {
  const drawn = []
  while (drawn.length < Math.min(count, end)) {
    const number = Math.floor(Math.random() * end)
    if (!drawn.includes(number)) drawn.push(number)
  }
  while (drawn.length < count) drawn.push(null)
  return drawn
}

function shownEntry (row) {
  return {
    feedback: row.feedback,
    rating: row.rating,
    timestamp: row.timestamp,
    submitter: {
      username: row.submitter_username,
      name: row.submitter_name,
      id: row.submitter_id,
      avatar: row.submitter_avatar
    }
  }
}

/** The guilds of the session's user by role, and under each role as the query has them: by name and id. */
function listing (session) {
  const staff = session.permissions === null ? [] : JSON.parse(session.permissions)
  const byRole = new Map(ROLES.map(role => [role, []]))
  for (const row of guildsOf.all(session.user)) {
    const permissions = permissionsIn(row, session, staff)
    const role = roleOf(row, permissions)
    if (role !== null) byRole.get(role).push(shownGuild(row, role, permissions))
  }
  return [...byRole.values()].flat()
}

function shownGuild (row, role, permissions) {
  const premium = row.payer !== null
  return {
    name: row.name,
    id: row.id,
    icon: row.icon ?? `${PICTURES}/embed/avatars/${(BigInt(row.id) >> 22n) % 6n}.png`,
    members: row.members,
    owner: row.owner,
    role,
    service: true,
    plus: {
      plus: premium
        ? { userid: row.payer, guilds: JSON.parse(row.premium), slots: row.slots }
        : { userid: '', guilds: [], slots: 0 },
      active: premium
    },
    permissions
  }
}

function permissionsIn (guild, session, staff) {
  const held = guild.roles === null ? [] : JSON.parse(guild.roles)
  const bindings = held.length === 0 ? {} : JSON.parse(guild.bindings)
  const bound = key => bindings[key]?.some(role => held.includes(role)) ?? false
  const manages = Boolean(guild.owns || guild.manages)
  const admin = manages || bound('ADMIN')
  const erlcManager = manages || bound('ERLC_MANAGER')
  const erlcAdmin = erlcManager || bound('ERLC_ADMIN')
  const developer = staff.includes('BOT_DEVELOPER')
  const granted = name => developer || staff.includes(name)
  const executive = granted('EXECUTIVE')
  return {
    ERLC_STAFF: erlcAdmin || bound('ERLC_STAFF'),
    SERVICE_PLUS_GUILD: guild.payer !== null,
    QUALITY_ASSURANCE: granted('QUALITY_ASSURANCE'),
    ERLC_ADMIN: erlcAdmin,
    DOCWRITER: granted('DOCWRITER'),
    FOUNDER: staff.includes('FOUNDER'),
    ERLC_MANAGER: erlcManager,
    MANAGE_SERVER: manages,
    EXECUTIVE: executive,
    BOT_DEVELOPER: developer,
    WEB_DEVELOPER: granted('WEB_DEVELOPER'),
    SETUP: Boolean(guild.setup),
    SESSION_STARTER: manages || bound('SESSION_STARTER'),
    MOD: admin || bound('MOD'),
    SUPPORT: granted('SUPPORT'),
    MANAGEMENT: executive || granted('MANAGEMENT'),
    ADMIN: admin,
    SERVICE_STAFF: granted('SERVICE_STAFF'),
    ERLC_LINKED: Boolean(guild.linked),
    SERVICE_PLUS_MEMBER: Boolean(session.subscribed)
  }
}

/** The strongest role that fits; null for a plain member, who is not shown the guild. */
function roleOf (guild, permissions) {
  if (guild.owns) return 'Owner'
  if (permissions.MANAGE_SERVER || permissions.ERLC_MANAGER) return 'Manager'
  if (permissions.ADMIN || permissions.ERLC_ADMIN) return 'Administrator'
  if (permissions.MOD || permissions.ERLC_STAFF) return 'Moderator'
  return null
}

/** The live clusters put together; of a shard that several report the last report counts. */
function botStatus (clusters, now) {
  if (clusters.length === 0) return { memory: 0, shards: {}, uptime: { readable: 'not reporting', epoch: 0 } }
  const epoch = Math.min(...clusters.map(cluster => cluster.started_at))
  const memory = clusters.reduce((sum, cluster) => sum + cluster.memory, 0)
  return {
    memory: Math.round(memory * 100) / 100,
    shards: Object.assign({}, ...clusters.map(cluster => JSON.parse(cluster.shards))),
    uptime: { readable: inWords(Math.max(0, Math.floor(now / 1000 - epoch))), epoch }
  }
}

function inWords (seconds) {
  const counted = (count, unit) => `${count} ${unit}${count === 1 ? '' : 's'}`
  const units = [
    ['day', Math.floor(seconds / 86400)],
    ['hour', Math.floor(seconds / 3600) % 24],
    ['minute', Math.floor(seconds / 60) % 60]
  ]
  const parts = units.filter(([, count]) => count > 0).map(([unit, count]) => counted(count, unit))
  if (parts.length === 0) return counted(seconds, 'second')
  const last = parts.pop()
  return parts.length === 0 ? last : `${parts.join(', ')} and ${last}`
}

/** The milliseconds since the caller sent the request; null where it does not say when that was. */
function sinceSent (sent, received) {
  return /^\d{1,12}(\.\d{1,9})?$/.test(sent) ? rounded(received - Number(sent) * 1000) : null
}

function rounded (milliseconds) {
  return Math.round(milliseconds * 1000) / 1000
}

function refuse (request, reply, code, error, message) {
  reply.header('cache-control', 'no-store')
  return reply.code(code).send({ code, message, data: { error, request_id: request.id } })
}
