/**
 * Reports a bot to Companion with fetch alone. Copy it and replace the sample data.
 *
 *     COMPANION_KEY=... COMPANION_URL=http://127.0.0.1:8081 node plain.mjs
 */

const url = (process.env.COMPANION_URL ?? 'http://127.0.0.1:8081').replace(/\/+$/, '');
const key = process.env.COMPANION_KEY;
const startedAt = Math.floor(Date.now() / 1000);

const town = { id: '190000000000000001', name: 'Harbour Town', icon: null, members: 1200, owner: '190000000000000002' };
const night = { id: '190000000000000011', name: 'Night Shift', icon: null, members: 40, owner: '190000000000000002' };
const guilds = [
  { ...town, setup: true, linked: false, roles: { MOD: ['190000000000000003'] } },
  { ...night, setup: false, linked: false, roles: {} },
];
const members = [{ guild: town.id, user: '190000000000000004', roles: ['190000000000000003'] }];

/** Returns the `data` of the answer. Rejects if the service refuses the request or is unreachable. */
async function call(method, path, body) {
  const headers = { Authorization: `Bearer ${key}` };
  const signal = AbortSignal.timeout(30_000);
  const answer = await fetch(url + path, { method, body, headers, signal, redirect: 'error' });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text).data;
}

/** Sends all guilds and all members with bound roles. Guilds and members that are left out are removed. */
function fullSync(guilds, members) {
  const lines = [
    ...guilds.map((guild) => ({ kind: 'guild', ...guild })),
    ...members.map((member) => ({ kind: 'member', ...member })),
  ];
  return call('POST', '/bot/sync?replace=guilds,members', lines.map((line) => JSON.stringify(line)).join('\n'));
}

/** Call it when the bot leaves a guild. */
function removeGuild(guild) {
  return call('DELETE', `/bot/guilds/${guild}`);
}

/** Call it every 20 s. Of each shard: when its last heartbeat was sent and acknowledged, in milliseconds. */
function heartbeat(shards) {
  const times = Object.entries(shards).map(([id, { sent, acknowledged }]) => {
    return [
      id,
      { heartbeatSent: sent / 1000, heartbeatAcknowledged: acknowledged / 1000, latency: acknowledged - sent },
    ];
  });
  const memory = Math.round(process.memoryUsage().rss / 2 ** 20);
  const sent = { shard_count: 1, sent_at: Date.now() / 1000 };
  const report = { memory, started_at: startedAt, shards: Object.fromEntries(times), ...sent };
  return call('PUT', '/bot/clusters/cluster-0/heartbeat', JSON.stringify(report));
}

if (!key) throw new Error('COMPANION_KEY must be a key of the management API');
console.log('full sync:', await fullSync(guilds, members));
console.log('removal:', await removeGuild(night.id));
for (;;) {
  const now = Date.now();
  await heartbeat({ 0: { sent: now - 50, acknowledged: now } }).catch((error) =>
    console.log('heartbeat:', error.message),
  );
  await new Promise((done) => setTimeout(done, 20_000));
}
