// Compiled by test-client.mjs: what must be accepted, and, after each @ts-expect-error, what must not.
import { CompanionClient, CompanionError, type ErrorWord, type Guild, type Status } from './companion';

const client = new CompanionClient({
  publicUrl: 'http://127.0.0.1:8080',
  managementUrl: 'http://127.0.0.1:8081',
  key: 'k',
});

export async function accepted(): Promise<void> {
  const status: Status = await client.call('getStatus');
  const guilds: Guild[] = await client.call('listGuilds', { Token: 'cmp_' });
  const role: 'Owner' | 'Manager' | 'Administrator' | 'Moderator' | undefined = guilds[0]?.role;
  await client.call('sync', {
    replace: ['guilds', 'members'],
    shard: 0,
    shards: 1,
    body: [{ kind: 'blocked', user: '1' }],
  });
  await client.call('getTeam', {}, AbortSignal.timeout(1));
  console.log(status.version.name, role);
}

export async function refused(): Promise<void> {
  // @ts-expect-error a parameter is missing
  await client.call('listGuilds');
  // @ts-expect-error there is no such operation
  await client.call('listGuild', { Token: '' });
  const ownerless = { name: 'x', icon: null, members: 1, setup: true, linked: true, roles: {} };
  // @ts-expect-error the owner is missing
  await client.call('putGuild', { guild: '1', body: ownerless });
  // @ts-expect-error no such kind
  await client.call('sync', { body: [{ kind: 'guilds' }] });
  // @ts-expect-error no such word
  const word: ErrorWord = 'token_expired';
  console.log(word);
}

export function narrowed(error: unknown): string {
  if (CompanionError.is(error, 'token_missing', 'token_invalid')) {
    const word: 'token_missing' | 'token_invalid' = error.word;
    return word;
  }
  // @ts-expect-error no such word
  return String(CompanionError.is(error, 'token_gone'));
}
