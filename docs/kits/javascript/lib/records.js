/**
 * Lines of a sync, and the difference between the current state and what the service was sent last.
 *
 * @typedef {{ guild: string, line: string, user?: string, roles?: string[] }} Change A line about a guild or a member.
 */

'use strict';

/** Bytes that the service accepts in a line of a sync. */
const MAX_LINE = 256 * 1024;
const MAX_OUTLINE_ENTRIES = 500;
/** By the platform's type of channel: stages are voice, media channels are forums. */
const CHANNEL_KINDS = {
  0: 'text',
  2: 'voice',
  4: 'category',
  5: 'announcement',
  13: 'voice',
  15: 'forum',
  16: 'forum',
};

function guildLine(guild, facts) {
  return JSON.stringify({
    kind: 'guild',
    id: guild.id,
    name: guild.name,
    icon: guild.iconURL({ extension: 'png', size: 1024 }),
    members: Math.max(guild.memberCount ?? 0, 0),
    owner: guild.ownerId,
    ...facts,
  });
}

/** Returns the names of channels and roles, in the platform's order; threads and `@everyone` are left out. */
function outlineLine(guild) {
  const known = [...guild.channels.cache.values()].filter(({ type }) => type in CHANNEL_KINDS);
  const named = [...guild.roles.cache.values()].filter(({ id }) => id !== guild.id);
  const channels = known.sort((a, b) => a.rawPosition - b.rawPosition || byId(a, b)).slice(0, MAX_OUTLINE_ENTRIES);
  const roles = named.sort((a, b) => b.rawPosition - a.rawPosition || byId(a, b)).slice(0, MAX_OUTLINE_ENTRIES);
  const lineOf = (maxName) =>
    JSON.stringify({
      kind: 'outline',
      guild: guild.id,
      channels: channels.map(({ id, name, type }) => ({ id, name: cut(name, maxName), kind: CHANNEL_KINDS[type] })),
      roles: roles.map(({ id, name, colors }) => ({ id, name: cut(name, maxName), color: hex(colors?.primaryColor) })),
    });
  const line = lineOf(100);
  return Buffer.byteLength(line) <= MAX_LINE ? line : lineOf(25);
}

function byId(a, b) {
  return a.id.length - b.id.length || (a.id < b.id ? -1 : 1);
}

/** Cuts between characters, never within a surrogate pair. */
function cut(name, most) {
  return name.length <= most ? name : [...name].slice(0, most).join('');
}

function hex(color) {
  return color ? `#${color.toString(16).padStart(6, '0').toUpperCase()}` : null;
}

/** @param {string} guild @param {string} user @param {string[]} roles @returns {Change} */
function memberChange(guild, user, roles) {
  return { guild, line: JSON.stringify({ kind: 'member', guild, user, roles }), user, roles };
}

/**
 * A guild as lines of a sync: the current state, or the last one that was sent.
 *
 * A request without an answer may have been applied or not. What it was about is unconfirmed: it is sent again even if the
 * state has returned to what was sent before.
 */
class Reported {
  /** Users, and `undefined` for the guild itself. @type {Set<string | undefined>} */ unconfirmed = new Set();
  /** Hash of the last outline that was sent. @type {string | undefined} */ outline;

  /** @param {string} guild @param {Map<string, string[]>} members bound roles by user */
  constructor(guild, members = new Map()) {
    this.guild = guild;
    this.members = members;
  }

  /** Yields all lines. @param {string} guild @returns {Generator<Change>} */
  *lines(guild) {
    yield { guild, line: this.guild };
    for (const [user, roles] of this.members) yield memberChange(guild, user, roles);
  }

  hasGuild(line) {
    return !this.unconfirmed.has(undefined) && this.guild === line;
  }

  hasMember(user, roles) {
    return !this.unconfirmed.has(user) && String(this.members.get(user) ?? []) === String(roles);
  }

  /** Makes everything unconfirmed, and everything of `other` as well. @param {Reported} [other] */
  markUnconfirmed(other = this) {
    this.members = new Map([...other.members, ...this.members]);
    this.unconfirmed = new Set([undefined, ...this.members.keys(), ...other.unconfirmed, ...this.unconfirmed]);
  }

  /** Records that a change was sent, and whether the service accepted it. @param {Change} change */
  apply({ line, user, roles = [] }, isCertain) {
    if (user === undefined) this.guild = line;
    else if (roles.length) this.members.set(user, roles);
    else this.members.delete(user);
    if (isCertain) this.unconfirmed.delete(user);
    else this.unconfirmed.add(user);
  }
}

/**
 * Yields what turns `sent` into `now`, the guild before its members.
 * @param {string} guild @param {Reported | undefined} sent @param {Reported} now @returns {Generator<Change>}
 */
function* differences(guild, sent = new Reported(''), now) {
  if (!sent.hasGuild(now.guild)) yield { guild, line: now.guild };
  for (const [user, roles] of now.members) {
    if (!sent.hasMember(user, roles)) yield memberChange(guild, user, roles);
  }
  yield* lostMembers(guild, sent, now);
}

/**
 * Yields a change for each member that was sent with roles, or is unconfirmed, and has none now.
 * @param {string} guild @param {Reported | undefined} sent @param {Reported} now @returns {Generator<Change>}
 */
function* lostMembers(guild, sent = new Reported(''), now) {
  for (const user of new Set([...sent.members.keys(), ...sent.unconfirmed])) {
    if (user !== undefined && !now.members.has(user)) yield memberChange(guild, user, []);
  }
}

module.exports = { Reported, differences, guildLine, lostMembers, memberChange, outlineLine };
