/**
 * Checks the arguments of `Companion`.
 *
 * Messages name the argument and the fix. They never contain the value: a swapped `url` is the key.
 */

'use strict';

const EXAMPLE = 'http://127.0.0.1:8081';
const GUILDS_INTENT = 1 << 0;
const FACT_KINDS = ['plus', 'staff', 'team', 'feedback', 'blocked'];
const CALLBACKS = ['guild', 'guilds', ...FACT_KINDS, 'onPosted', 'onError'];
const DEFAULTS = {
  flushAfter: 2_000,
  countsEvery: 60_000,
  heartbeatEvery: 20_000,
  firstHeartbeatWithin: 60_000,
  snapshotEvery: 6 * 3_600_000,
  snapshotAfterOutage: 300_000,
  stopWithin: 5_000,
  maxMembers: 10_000,
};
const OPTIONS = ['url', 'key', 'cluster', 'log', 'settings', 'outlines', ...CALLBACKS, ...Object.keys(DEFAULTS)];

function checkClient(client) {
  const intents = client?.options?.intents;
  if (typeof client?.on !== 'function' || typeof client.isReady !== 'function' || typeof intents?.has !== 'function') {
    throw new TypeError('client must be a Client of discord.js');
  }
  // Without it the cache has no guilds, and a snapshot would remove all of them from the service.
  if (!intents.has(GUILDS_INTENT)) {
    throw new TypeError('client lacks the intent Guilds: create it with GatewayIntentBits.Guilds');
  }
}

/** Returns the options with their defaults; throws a `TypeError` on those that cannot work. */
function checkedOptions(options) {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`options are missing: pass { url: '${EXAMPLE}', key: process.env.COMPANION_KEY }`);
  }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const unknown = Object.keys(given).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) throw new TypeError(`${unknown} is no option: there are ${OPTIONS.join(', ')}`);
  for (const name of CALLBACKS) {
    if (name in given && typeof given[name] !== 'function') throw new TypeError(`${name} must be a function`);
  }
  for (const name of Object.keys(DEFAULTS)) {
    if (name in given && !(given[name] >= 0)) throw new TypeError(`${name} must be a number from 0`);
  }
  if (given.guild && given.guilds) throw new TypeError('guild and guilds exclude each other: pass one of them');
  if (given.cluster !== undefined && !/^[A-Za-z0-9_-]{1,64}$/.test(given.cluster)) {
    throw new TypeError('cluster must be 1 to 64 of the characters A-Z, a-z, 0-9, _ and -');
  }
  const { log = console } = given;
  if (typeof log?.warn !== 'function' || typeof log.info !== 'function') {
    throw new TypeError('log must have the functions warn and info');
  }
  const settings = checkedSettings(given.settings ?? []);
  const outlines = Boolean(given.outlines || settings.length);
  return { ...DEFAULTS, ...given, log, settings, outlines, url: checkedUrl(given.url), key: checkedKey(given.key) };
}

function checkedSettings(settings) {
  const isNamed = (one) => typeof one?.key === 'string';
  const isSection = (section) => isNamed(section) && Array.isArray(section.fields) && section.fields.every(isNamed);
  if (Array.isArray(settings) && settings.every(isSection)) return settings;
  throw new TypeError(
    'settings must be an array of sections with key, title, permission and fields, ' +
      'and each field must have key, type and title',
  );
}

/** Returns the address without a trailing slash. */
function checkedUrl(url) {
  checkText('url', url, `pass the address of the management API, for example ${EXAMPLE}`);
  if (/[\s\p{Cc}]/u.test(url)) throw new TypeError('url contains a space or a line break: remove it');
  if (!/^https?:\/\//i.test(url)) {
    throw new TypeError(`url must begin with http:// or https://, for example ${EXAMPLE}`);
  }
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    parsed = undefined;
  }
  if (!parsed?.hostname || parsed.port === '0') {
    throw new TypeError(`url needs a host and, behind a colon, a port from 1 to 65535, for example ${EXAMPLE}`);
  }
  if (parsed.username || parsed.password || parsed.search || parsed.hash) {
    throw new TypeError('url must have no user name, no ? and no #: the key is an option of its own');
  }
  return url.replace(/\/+$/, '');
}

/** Returns the key if it can be the value of a header. */
function checkedKey(key) {
  checkText('key', key, 'pass a key of the management API, for example process.env.COMPANION_KEY');
  if (!/^[!-~]+$/.test(key)) {
    throw new TypeError(
      'key contains a space, a line break or a character outside ASCII: trim what is read from a file',
    );
  }
  return key;
}

function checkText(name, value, fix) {
  if (value === undefined || value === null) throw new TypeError(`${name} is missing: ${fix}`);
  if (value === '') throw new TypeError(`${name} is empty: ${fix}`);
  if (typeof value !== 'string') throw new TypeError(`${name} must be a string, not ${typeof value}: ${fix}`);
}

module.exports = { FACT_KINDS, OPTIONS, checkClient, checkedOptions };
