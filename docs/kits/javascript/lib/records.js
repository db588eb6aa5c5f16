/**
 * Lines of a sync, and the difference between the current state and what the service was sent last.
 *
 * @typedef {{ guild: string, members: Map<string, string[]> }} Reported A guild's line, and the bound roles by user.
 * @typedef {{ guild: string, line: string, user?: string, roles?: string[] }} Change A line about a guild or a member.
 */

'use strict';

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

/** @param {string} guild @param {string} user @param {string[]} roles @returns {Change} */
function memberChange(guild, user, roles) {
  return { guild, line: JSON.stringify({ kind: 'member', guild, user, roles }), user, roles };
}

/** Yields all lines of a guild. @param {string} guild @param {Reported} reported @returns {Generator<Change>} */
function* linesOf(guild, reported) {
  yield { guild, line: reported.guild };
  for (const [user, roles] of reported.members) yield memberChange(guild, user, roles);
}

/**
 * Yields what turns `sent` into `now`, the guild before its members.
 * @param {string} guild @param {Reported | undefined} sent @param {Reported} now @returns {Generator<Change>}
 */
function* differences(guild, sent, now) {
  if (sent?.guild !== now.guild) yield { guild, line: now.guild };
  const before = sent?.members ?? new Map();
  for (const [user, roles] of now.members) {
    if (String(before.get(user) ?? []) !== String(roles)) yield memberChange(guild, user, roles);
  }
  for (const user of before.keys()) if (!now.members.has(user)) yield memberChange(guild, user, []);
}

/** Records that the service accepted a change. @param {Map<string, Reported>} sent @param {Change} change */
function apply(sent, { guild, line, user, roles = [] }) {
  const reported = sent.get(guild) ?? { guild: '', members: new Map() };
  sent.set(guild, reported);
  if (user === undefined) reported.guild = line;
  else if (roles.length) reported.members.set(user, roles);
  else reported.members.delete(user);
}

module.exports = { apply, differences, guildLine, linesOf, memberChange };
