// Compiled by test-package-js.mjs: what must be accepted, and, after each @ts-expect-error, what must not.
import { Client, GatewayIntentBits, type Guild } from 'discord.js';
import { Companion, CompanionError, SettingsProblem } from 'companion-discord';
import type { GuildFacts, Options, Posted, Section } from 'companion-discord';

const client = new Client({ intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMembers] });
const required = { url: 'http://127.0.0.1:8081', key: 'a-key' };

export function one(guild: Guild): GuildFacts {
  return { setup: true, roles: { MOD: guild.roles.cache.filter(({ name }) => name === 'Moderator').keys() } };
}

export const companion = new Companion(client, {
  ...required,
  cluster: process.env['CLUSTER'],
  guild: one,
  plus: async () => [{ user: '1', guilds: ['2'], slots: 3 }],
  blocked: () => new Set(['4']),
  log: console,
  onPosted: ({ what, size }: Posted) => console.log(what, size),
  onError: (error) => console.log(error.word, error.status, error.retryAfter, error.isOutage),
});
new Companion(client, {
  ...required,
  guilds: async (guilds) => new Map(guilds.map((guild) => [guild.id, one(guild)])),
});
new Companion(client, { ...required, guilds: (guilds) => Object.fromEntries(guilds.map(({ id }) => [id, {}])) });

const log: Section = {
  key: 'log',
  title: 'Log',
  permission: 'ADMIN',
  fields: [{ key: 'level', type: 'choice', title: 'Level', choices: [{ value: 'a', title: 'A' }], default: 'a' }],
};
new Companion(client, { ...required, settings: [log, { ...log, key: 'other', plus: true }], outlines: true });

export async function accepted(options: Options): Promise<CompanionError | undefined> {
  companion.guildChanged('1', client.guilds.cache, [...client.guilds.cache.values()], client.guilds.cache.keys());
  companion.factsChanged('plus', 'team');
  companion.onSettings(async (guildId, settings, changed) => {
    const level: string | null = settings['log.level'];
    if (changed.has('log.level') && !level) throw new SettingsProblem({ 'log.level': `It is unset in ${guildId}.` });
  });
  for (const guild of client.guilds.cache.values()) console.log(companion.settings(guild)['log.level']);
  const arrived: boolean = await companion.flush(1_000);
  const numbers: number[] = [companion.pending, companion.stats.requests];
  await new Companion(client, options).stop();
  return arrived && numbers.length ? new CompanionError('unreachable', 'x', { status: 503 }) : undefined;
}

export function refused(): void {
  // @ts-expect-error the key is missing
  new Companion(client, { url: 'http://127.0.0.1:8081' });
  // @ts-expect-error it may be undefined
  new Companion(client, { ...required, key: process.env['COMPANION_KEY'] });
  // @ts-expect-error no such option
  new Companion(client, { ...required, flush_after: 1 });
  // @ts-expect-error no such key
  new Companion(client, { ...required, guild: () => ({ roles: { JANITOR: ['1'] } }) });
  // @ts-expect-error an id is text
  new Companion(client, { ...required, blocked: () => [4] });
  // @ts-expect-error no such kind
  companion.factsChanged('guilds');
  // @ts-expect-error an id is text
  companion.guildChanged(1);
  // @ts-expect-error no such type
  new Companion(client, { ...required, settings: [{ ...log, fields: [{ key: 'x', type: 'colour', title: 'X' }] }] });
  // @ts-expect-error no such permission
  new Companion(client, { ...required, settings: [{ ...log, permission: 'JANITOR' }] });
  // @ts-expect-error an id is text
  companion.settings(1);
  // @ts-expect-error settings are read-only
  companion.settings('1')['log.level'] = 'a';
  // @ts-expect-error it is read-only
  companion.stats.requests = 0;
}
