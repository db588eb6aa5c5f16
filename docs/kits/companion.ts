/**
 * A client for both APIs of Companion, in one file: for browsers, Node 20 and later, Deno and Bun. It needs nothing.
 *
 *     const companion = new CompanionClient({ publicUrl: 'https://api.example' });
 *     const { token } = await companion.call('createSession', { 'Idp-Code': code });
 *     const guilds = await companion.call('listGuilds', { Token: token });
 *
 * Operations have the names of docs/openapi.json, and parameters those of their place: path, query or header. What goes
 * wrong is a `CompanionError`, whose `word` is one of `ErrorWord`. A 429 or 503 with `Retry-After` is waited for and
 * asked again, as often as `retries` and as long as `maxWait` allow; the service names it only where asking again is right.
 */

export interface ClientOptions {
  /** Address of the public API. */
  publicUrl?: string;
  /** Address of the management API. */
  managementUrl?: string;
  /** Key of the management API: not for browsers. */
  key?: string;
  /** How often a request is repeated that the service put off; 2 unless given. */
  retries?: number;
  /** The longest wait, in milliseconds, that is accepted before a repetition; 10,000 unless given. */
  maxWait?: number;
  /** How long one attempt may take, in milliseconds; 15,000 unless given. */
  timeout?: number;
  /** Instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

/** Every operation with an end. `changes` is the one without. */
export type OperationId = Exclude<keyof Operations, 'watchChanges'>;
export type Input<Id extends OperationId> = Operations[Id]['input'];
export type Data<Id extends OperationId> = Operations[Id]['data'];

/** What has changed. It says where to look, not what is there; without an id, anything of its kind may be different. */
export interface ChangeEvent {
  /** Where to go on after it. */
  id: string;
  /** What it was about; `reset` where the history does not reach back, and anything may be different. */
  kind: ChangeKind | 'reset';
  data: { id?: string; guild?: string; user?: string };
}

export type ChangeKind =
  | 'guild'
  | 'member'
  | 'plus'
  | 'staff'
  | 'blocked'
  | 'feedback'
  | 'team'
  | 'cluster'
  | 'session'
  | 'grant';

/** Words that no operation has: there was no answer, none of the service, or the address is another listener's. */
export type ClientWord = 'unreachable' | 'unreadable' | 'method_not_allowed';

/** Inputs that may be left out as a whole. */
type Arguments<Id extends OperationId> =
  Record<never, never> extends Input<Id>
    ? [input?: Input<Id>, signal?: AbortSignal]
    : [input: Input<Id>, signal?: AbortSignal];

export class CompanionError<Word extends string = ErrorWord | ClientWord> extends Error {
  override readonly name = 'CompanionError';

  constructor(
    readonly word: Word,
    message: string,
    /** The HTTP status; 0 where there was no answer. */
    readonly status: number,
    /** To be quoted when reporting a problem. */
    readonly requestId?: string,
    /** Milliseconds that the service asks to wait for. */
    readonly retryAfter?: number,
    /** What is wrong with the input, where the word is `input_invalid`. */
    readonly fields: FieldProblem[] = [],
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }

  /** Narrows a caught error to one of these words. */
  static is<Word extends ErrorWord | ClientWord>(error: unknown, ...words: Word[]): error is CompanionError<Word> {
    return error instanceof CompanionError && (words as string[]).includes(error.word);
  }
}

export class CompanionClient {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Carries an operation out and gives the `data` of its answer. */
  async call<Id extends OperationId>(id: Id, ...[input, signal]: Arguments<Id>): Promise<Data<Id>> {
    const request = this.#request(id, (input ?? {}) as Record<string, unknown>);
    const { retries = 2, maxWait = 10_000 } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return (await this.#send(request, signal)) as Data<Id>;
      } catch (error) {
        const wait = error instanceof CompanionError ? error.retryAfter : undefined;
        if (wait === undefined || wait > maxWait || attempt >= retries) throw error;
        await pause(wait, signal);
      }
    }
  }

  /**
   * Every change as it comes, after `since` or from now on, of all kinds or of some. It goes on by itself after a restart
   * or a lost connection, missing nothing, and ends with `signal`.
   */
  async *changes(
    { kinds, since }: { kinds?: ChangeKind[]; since?: string } = {},
    signal?: AbortSignal,
  ): AsyncGenerator<ChangeEvent, void> {
    let last = since;
    while (!signal?.aborted) {
      const { url, init } = this.#request('watchChanges', { kinds, 'Last-Event-ID': last });
      try {
        const answer = await (this.#options.fetch ?? globalThis.fetch)(url, { ...init, signal: signal ?? null });
        if (!answer.ok || answer.body === null) unwrapped(answer, await answer.text());
        else {
          for await (const { id, event, data } of blocks(answer.body)) {
            last = id ?? last;
            if (event !== undefined && last !== undefined) {
              yield { id: last, kind: event as ChangeEvent['kind'], data: JSON.parse(data) };
            }
          }
        }
      } catch (error) {
        if (signal?.aborted) return;
        // What the service refuses it would refuse again; anything else may be over soon.
        if (error instanceof CompanionError && error.retryAfter === undefined) throw error;
      }
      await pause(2_000, signal).catch(() => undefined);
    }
  }

  #request(id: keyof Operations, input: Record<string, unknown>): { url: string; init: RequestInit } {
    const operation = OPERATIONS[id];
    const base = operation.listener === 'public' ? this.#options.publicUrl : this.#options.managementUrl;
    if (base === undefined) throw new TypeError(`${id} needs the option ${operation.listener}Url`);
    let path: string = operation.path;
    const query = new URLSearchParams();
    const headers = new Headers();
    for (const [name, place] of Object.entries(operation.places)) {
      const value = input[name];
      if (value === undefined) continue;
      const text = String(value); // a list is joined by commas, as the service reads it
      if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(text));
      else if (place === 'query') query.set(name, text);
      else headers.set(name, text);
    }
    if (operation.listener === 'management' && this.#options.key !== undefined) {
      headers.set('Authorization', `Bearer ${this.#options.key}`);
    }
    const body = written(operation.body, input['body']);
    const suffix = [...query].length > 0 ? `?${query}` : '';
    return { url: base.replace(/\/+$/, '') + path + suffix, init: { method: operation.method, headers, body } };
  }

  async #send({ url, init }: { url: string; init: RequestInit }, signal?: AbortSignal): Promise<unknown> {
    const send = this.#options.fetch ?? globalThis.fetch;
    const timeout = AbortSignal.timeout(this.#options.timeout ?? 15_000);
    let answer: Response;
    let text: string;
    try {
      answer = await send(url, { ...init, signal: signal ? AbortSignal.any([signal, timeout]) : timeout });
      text = await answer.text();
    } catch (cause) {
      signal?.throwIfAborted();
      throw new CompanionError('unreachable', `There was no answer: ${cause}`, 0, undefined, undefined, [], { cause });
    }
    if (answer.ok && !answer.headers.get('Content-Type')?.startsWith('application/json')) return text;
    return unwrapped(answer, text);
  }
}

/** The blocks of a stream of Server-Sent Events. */
async function* blocks(body: ReadableStream<Uint8Array>) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const complete = (text + decoder.decode(value, { stream: true })).split('\n\n');
      text = complete.pop() ?? '';
      for (const block of complete) {
        const fields = new Map(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2) as [string, string]));
        yield { id: fields.get('id'), event: fields.get('event'), data: fields.get('data') ?? '{}' };
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function written(form: 'none' | 'json' | 'lines', body: unknown): string | null {
  if (form === 'none') return null;
  if (form === 'json') return JSON.stringify(body);
  return Array.from(body as Iterable<unknown>, (line) => `${JSON.stringify(line)}\n`).join('');
}

/** The data of an envelope; an error otherwise. The OpenAPI document comes without one. */
function unwrapped(answer: Response, text: string): unknown {
  const requestId = answer.headers.get('X-Request-Id') ?? undefined;
  const seconds = answer.headers.get('Retry-After');
  const retryAfter = seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) * 1000 : undefined;
  let content: Partial<{ data: any; message: string }>;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    const message = `The answer (${answer.status}) is not the service's.`;
    throw new CompanionError('unreadable', message, answer.status, requestId, retryAfter, [], { cause });
  }
  if (answer.ok) return content.data ?? content;
  const { error = 'unreadable', fields } = content.data ?? {};
  const word = error as ErrorWord | ClientWord;
  throw new CompanionError(word, content.message ?? '', answer.status, requestId, retryAfter, fields);
}

function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

// Generated from docs/openapi.json by docs/kits/tests/generate-types.mjs: do not edit.
/** Health of the service. */
export type Api = {
  latency: Latency;
};

/** A blocked user. */
export type BlockedLine = {
  kind: 'blocked';
  /** The user's id. */
  user: Snowflake;
};

/** A blocked user. */
export type BlockedRecord = Record<string, never>;

/** Health of the bot. */
export type Bot = {
  /** Each shard of the live clusters by its id. */
  shards: Record<string, ShardRecord>;
  uptime: Uptime;
};

/** What the bot reported about a guild, and about a user in it. */
export type BotWord = {
  /** Whether the bot has been set up in the guild. */
  setup: boolean;
  /** Whether the guild is linked to a game server. */
  linked: boolean;
  /** The user's platform roles. */
  roles: Array<Snowflake>;
};

/** Number of records that a change touched. */
export type Changes = {
  /** Records added. */
  added: number;
  /** Records changed. */
  changed: number;
  /** Records removed. */
  removed: number;
};

/** A channel of a guild. */
export type ChannelRecord = {
  id: Snowflake;
  name: string;
  /** What the channel is for. */
  kind: 'text' | 'voice' | 'category' | 'forum' | 'announcement';
};

/** One of the values of a choice. */
export type ChoiceRecord = {
  value: string;
  title: string;
};

/** The status of a cluster of the bot. */
export type ClusterReport = {
  /** Memory in use, in megabytes. */
  memory: number;
  /** When the cluster started, in seconds since 1970; a fraction is dropped. */
  started_at: number;
  /** The shards by their ids. */
  shards: Record<string, ShardReport>;
  /** The number of shards of the whole bot. Without it no shard counts as missing. */
  shard_count?: number | null;
  /** When the report was sent, in seconds since 1970 by the bot's clock. The age of an acknowledgement is measured by it, and by the time of arrival without it. */
  sent_at?: number | null;
};

/** The commit that the running version was built from. */
export type Commit = {
  /** The full hash. */
  sha: string;
  /** Its message. */
  message: string;
  /** Its author. */
  author: string;
  /** When it was made, in seconds since 1970. */
  timestamp: number;
};

/** What a user sees of a guild, and everything that counts for or against it. */
export type Explanation = {
  /** Whether the guild is in the user's list. */
  listed: boolean;
  /** The role under which it is listed; null if it is not. */
  role: 'Owner' | 'Manager' | 'Administrator' | 'Moderator' | null;
  /** Everything that keeps it out of the list. */
  obstacles: Array<Obstacle>;
  list: LastList | null;
  platform: PlatformWord | null;
  bot: BotWord | null;
  /** Staff grants of the user. */
  staff: Array<string>;
  plus: Plus;
  permissions: Reasons;
};

/** A fact that grants a permission. */
export type Fact = 'owns_guild' | 'platform_administrator' | 'platform_manage_server' | 'bound_role' | 'guild_set_up' | 'guild_linked' | 'guild_has_plus' | 'user_has_plus' | 'granted_by_name';

/** A feedback entry about the bot. */
export type FeedbackEntry = {
  /** The text; empty for a rating without one. */
  feedback: string;
  /** The number of stars. Only entries with four or five are shown. */
  rating: number;
  /** When it was submitted, in seconds since 1970. */
  timestamp: number;
  submitter: User;
};

/** An entry of feedback, with any rating. */
export type FeedbackLine = {
  kind: 'feedback';
  /** The entry's id. Chosen by the bot. */
  id: string;
  /** The text. May be empty. */
  feedback: string;
  /** The number of stars. */
  rating: number;
  /** When it was submitted, in seconds since 1970; a fraction is dropped. */
  timestamp: number;
  submitter: UserRecord;
};

/** An entry of feedback, with any rating. */
export type FeedbackRecord = {
  /** The text. May be empty. */
  feedback: string;
  /** The number of stars. */
  rating: number;
  /** When it was submitted, in seconds since 1970; a fraction is dropped. */
  timestamp: number;
  submitter: UserRecord;
};

/** A error in one field. */
export type FieldProblem = {
  /** Path of the field: `roles.MOD[2]`, or `line 7: members` in a sync. */
  path: string;
  /** What the field must be. */
  message: string;
};

/** One thing that can be set. Each type has options of its own. */
export type FieldRecord = {
  key: string;
  title: string;
  description?: string | null;
  type: 'boolean' | 'integer' | 'number' | 'text' | 'choice' | 'color' | 'channel' | 'role';
  /** The value of a guild that set none. */
  default?: unknown;
  /** Of integer and number. */
  min?: number | null;
  /** Of integer and number. */
  max?: number | null;
  /** Of integer and number: what is counted. */
  unit?: string | null;
  /** Of text: 0 if absent. */
  min_length?: number | null;
  /** Of text: 4000 if absent, which is the most. */
  max_length?: number | null;
  /** Of text. */
  multiline?: boolean | null;
  /** Of choice: 1 to 50 with distinct values. */
  choices?: Array<ChoiceRecord> | null;
  /** Of channel: all if absent. */
  kinds?: Array<'text' | 'voice' | 'category' | 'forum' | 'announcement'> | null;
  /** Of text, choice, channel and role: the value is a list. */
  many?: ManyRecord;
};

/** A guild that the user has a role in and that has the bot. */
export type Guild = {
  name: string;
  /** The guild's id. */
  id: Snowflake;
  /** URL of the guild's icon, or of the platform's default picture for its id. */
  icon: string;
  /** Number of members. */
  members: number;
  /** The owner shown for the guild. */
  owner: Snowflake;
  /** The user's role in the guild, the strongest that fits. */
  role: 'Owner' | 'Manager' | 'Administrator' | 'Moderator';
  /** Whether the bot is in the guild. Always true; to be removed. @deprecated */
  service: true;
  plus: Plus;
  permissions: Permissions;
};

/** A guild that has the bot. */
export type GuildLine = {
  kind: 'guild';
  /** The guild's id. */
  id: Snowflake;
  name: string;
  /** The URL of the icon; null for the platform's default picture. */
  icon: string | null;
  /** Number of members. */
  members: number;
  /** The owner that is shown. */
  owner: Snowflake;
  /** Whether the bot has been set up there. */
  setup: boolean;
  /** Whether it is linked to a game server. */
  linked: boolean;
  /** Which platform roles carry which right. A key without roles may be absent. */
  roles: {
    MOD?: Array<Snowflake>;
    ADMIN?: Array<Snowflake>;
    ERLC_STAFF?: Array<Snowflake>;
    ERLC_ADMIN?: Array<Snowflake>;
    ERLC_MANAGER?: Array<Snowflake>;
    SESSION_STARTER?: Array<Snowflake>;
  };
};

/** A guild that has the bot. */
export type GuildRecord = {
  name: string;
  /** The URL of the icon; null for the platform's default picture. */
  icon: string | null;
  /** Number of members. */
  members: number;
  /** The owner that is shown. */
  owner: Snowflake;
  /** Whether the bot has been set up there. */
  setup: boolean;
  /** Whether it is linked to a game server. */
  linked: boolean;
  /** Which platform roles carry which right. A key without roles may be absent. */
  roles: {
    MOD?: Array<Snowflake>;
    ADMIN?: Array<Snowflake>;
    ERLC_STAFF?: Array<Snowflake>;
    ERLC_ADMIN?: Array<Snowflake>;
    ERLC_MANAGER?: Array<Snowflake>;
    SESSION_STARTER?: Array<Snowflake>;
  };
};

/** The settings of a guild. */
export type GuildSettings = {
  /** Raised by one with each change; 0 if nothing was ever set. */
  revision: number;
  /** The values of all fields, by `section.field`: what is set, otherwise the default, otherwise null. */
  values: Record<string, unknown>;
  /** The fields that are set. */
  set: Array<string>;
  /** When it was last changed, in seconds since 1970; null if never. */
  changed_at: number | null;
  changed_by: Snowflake | null;
  /** The revision that the bot acts by; null if it has confirmed none. */
  applied: number | null;
  /** Why the bot does not act by some values of that revision. */
  problems: Array<SettingsProblem>;
};

/** Health of the service and the bot. */
export type Health = {
  api: Api;
  bot: Bot;
};

/** The platform's last list for a user. */
export type LastList = {
  /** Number of guilds in it. */
  guilds: number;
  /** Age of the list, in seconds. */
  age: number;
  /** Whether it can be refreshed without the user. */
  renewable: boolean;
};

/** How long this request took, in milliseconds. */
export type Latency = {
  /** From `Sent-Epoch` to arrival; null without that header. Negative if the clocks disagree. */
  response: number | null;
  /** From arrival to response. */
  process: number;
};

/** A live session. */
export type LiveSession = {
  /** The session's id: the SHA-256 of its token. */
  id: string;
  user: Snowflake;
  /** When it was created, in seconds since 1970. */
  created: number;
  /** When it was last used, as last written to the store, in seconds since 1970. */
  seen: number;
  /** When it expires if it is not used again, in seconds since 1970. */
  ends: number;
  /** The `User-Agent` of its sign-in, at most 256 characters; null if unknown. */
  user_agent: string | null;
};

/** How long a list is: at most 50. */
export type ManyRecord = {
  min?: number | null;
  max: number;
};

/** The roles of a member of a guild. */
export type MemberLine = {
  kind: 'member';
  /** The guild's id. */
  guild: Snowflake;
  /** The user's id. */
  user: Snowflake;
  /** Platform roles. */
  roles: Array<Snowflake>;
};

/** The roles of a member of a guild. */
export type MemberRecord = {
  /** Platform roles. */
  roles: Array<Snowflake>;
};

/** What would grant a permission. One of the facts is enough. */
export type Needs = {
  /** The facts that would grant it. */
  because: Array<Fact>;
  /** The roles that would grant it, if a fact is about roles. */
  roles: Array<Snowflake>;
  /** Both as a sentence for people. */
  text: string;
};

/** Empty: the status code says everything. */
export type Nothing = Record<string, never>;

/** A notice, shown on the status page while it counts and in the history afterwards. */
export type NoticeRecord = {
  /** What the notice is about. */
  kind: 'incident' | 'maintenance' | 'news';
  /** Shown first. */
  title: string;
  /** Plain text: markup is shown as written. */
  text: string;
  /** From when the notice counts, in seconds since 1970; a fraction is dropped. */
  from: number;
  /** Until when the notice counts, in seconds since 1970. Without it the notice is open. */
  until?: number | null;
};

/** A reason that keeps a guild out of a user's list. */
export type Obstacle = 'blocked' | 'not_signed_in' | 'without_list' | 'not_a_member' | 'without_bot' | 'plain_member';

/** The names of a guild's channels and roles, for the forms of its settings. */
export type OutlineLine = {
  kind: 'outline';
  /** The guild's id. */
  guild: Snowflake;
  /** The channels, in the order shown. */
  channels: Array<ChannelRecord>;
  /** The roles, in the order shown. */
  roles: Array<RoleRecord>;
};

/** The names of a guild's channels and roles, for the forms of its settings. */
export type OutlineRecord = {
  /** The channels, in the order shown. */
  channels: Array<ChannelRecord>;
  /** The roles, in the order shown. */
  roles: Array<RoleRecord>;
};

/** What the user may do in the guild. Every key is always present. */
export type Permissions = {
  ERLC_STAFF: boolean;
  SERVICE_PLUS_GUILD: boolean;
  QUALITY_ASSURANCE: boolean;
  ERLC_ADMIN: boolean;
  DOCWRITER: boolean;
  FOUNDER: boolean;
  ERLC_MANAGER: boolean;
  MANAGE_SERVER: boolean;
  EXECUTIVE: boolean;
  BOT_DEVELOPER: boolean;
  WEB_DEVELOPER: boolean;
  SETUP: boolean;
  SESSION_STARTER: boolean;
  MOD: boolean;
  SUPPORT: boolean;
  MANAGEMENT: boolean;
  ADMIN: boolean;
  SERVICE_STAFF: boolean;
  ERLC_LINKED: boolean;
  SERVICE_PLUS_MEMBER: boolean;
};

/** What the platform says about a user in a guild, as far as it counts. */
export type PlatformWord = {
  /** Whether the user owns the guild. */
  owner: boolean;
  /** Whether the user has Administrator. */
  administrator: boolean;
  /** Whether the user has Manage Server. */
  manage_server: boolean;
};

/** The premium status of a guild. */
export type Plus = {
  plus: PlusRecord;
  /** Whether a subscription names the guild. */
  active: boolean;
};

/** The subscription that makes a guild premium; empty if there is none. */
export type PlusRecord = {
  /** The user who pays; empty if there is no subscription. */
  userid: string;
  /** The guilds that the subscription makes premium. */
  guilds: Array<Snowflake>;
  /** Maximum number of guilds of the subscription. */
  slots: number;
};

/** A value that the bot cannot act by, and why. */
export type ProblemRecord = {
  key: string;
  message: string;
};

/** Why a permission is granted or not. */
export type Reason = {
  /** Whether it is granted. */
  granted: boolean;
  /** The permissions that imply it, the nearest first; empty if a fact grants it directly. */
  through: Array<string>;
  because: Fact | null;
  /** The user's roles that count, if the fact is about roles. */
  roles: Array<Snowflake>;
  needs: Needs | null;
};

/** Every permission with its reason, from stored data. The user sees them only if the guild is listed. */
export type Reasons = {
  ERLC_STAFF: Reason;
  SERVICE_PLUS_GUILD: Reason;
  QUALITY_ASSURANCE: Reason;
  ERLC_ADMIN: Reason;
  DOCWRITER: Reason;
  FOUNDER: Reason;
  ERLC_MANAGER: Reason;
  MANAGE_SERVER: Reason;
  EXECUTIVE: Reason;
  BOT_DEVELOPER: Reason;
  WEB_DEVELOPER: Reason;
  SETUP: Reason;
  SESSION_STARTER: Reason;
  MOD: Reason;
  SUPPORT: Reason;
  MANAGEMENT: Reason;
  ADMIN: Reason;
  SERVICE_STAFF: Reason;
  ERLC_LINKED: Reason;
  SERVICE_PLUS_MEMBER: Reason;
};

/** Resources that the bot uses. */
export type Resources = {
  /** Memory of all live clusters of the bot, in megabytes with two decimals. */
  memory: number;
};

/** A role of a guild. */
export type RoleRecord = {
  id: Snowflake;
  name: string;
  /** The colour, or null if the role has none of its own. */
  color: string | null;
};

/** Fields that are edited under one permission. */
export type SectionRecord = {
  key: string;
  title: string;
  description?: string | null;
  /** Who may edit the section. */
  permission: 'ERLC_STAFF' | 'SERVICE_PLUS_GUILD' | 'QUALITY_ASSURANCE' | 'ERLC_ADMIN' | 'DOCWRITER' | 'FOUNDER' | 'ERLC_MANAGER' | 'MANAGE_SERVER' | 'EXECUTIVE' | 'BOT_DEVELOPER' | 'WEB_DEVELOPER' | 'SETUP' | 'SESSION_STARTER' | 'MOD' | 'SUPPORT' | 'MANAGEMENT' | 'ADMIN' | 'SERVICE_STAFF' | 'ERLC_LINKED' | 'SERVICE_PLUS_MEMBER';
  /** Whether only premium guilds have it. */
  plus?: boolean | null;
  /** Whether everyone who sees the guild sees the values. */
  visible?: boolean | null;
  /** With distinct keys. The limit is for all sections together. */
  fields: Array<FieldRecord>;
};

/** What people can set in each guild. */
export type SentSchema = {
  /** With distinct keys. */
  sections: Array<SectionRecord>;
};

/** A new session. */
export type Session = {
  /** The session token, shown this once. Send it in the header `Token`. */
  token: SessionToken;
  user: User;
};

/** A session token. */
export type SessionToken = string;

/** A change of a guild's settings. */
export type SettingsChange = {
  /** The revision that it made. */
  revision: number;
  /** When, in seconds since 1970. */
  at: number;
  by: Snowflake | null;
  /** Through what: the dashboard, the public API or the bot. */
  via: string;
  /** What was different: the field and its value before and after; null is unset. */
  changes: Array<Record<string, unknown>>;
};

/** What the bot acts by. */
export type SettingsConfirmation = {
  revision: number;
  /** Values that it cannot act by. */
  problems?: Array<ProblemRecord> | null;
};

/** A change of a guild's settings by the bot. */
export type SettingsPatch = {
  /** The values to set, by `section.field`; null returns a field to its default. */
  values: Record<string, unknown>;
  by?: Snowflake | null;
};

/** A value that the bot does not act by. */
export type SettingsProblem = {
  /** The field, as `section.field`. */
  key: string;
  /** Why, as people read it. */
  message: string;
};

/** A shard, with numbers as the bot reported them. */
export type ShardRecord = {
  /** When it last sent a heartbeat, in seconds since 1970. */
  heartbeatSent: number;
  /** When the platform last acknowledged one, in seconds since 1970. */
  heartbeatAcknowledged: number;
  /** Round-trip time of a heartbeat, in milliseconds. */
  latency: number;
};

/** A shard, in the bot's own units. */
export type ShardReport = {
  /** When it last sent a heartbeat, in seconds since 1970. */
  heartbeatSent: number;
  /** When the platform last acknowledged one, in seconds since 1970. */
  heartbeatAcknowledged: number;
  /** The round trip of that heartbeat, in milliseconds. */
  latency: number;
};

/** An id of the platform: a 64-bit number above zero, as text. */
export type Snowflake = string;

/** Permissions granted to a user by name. */
export type StaffLine = {
  kind: 'staff';
  /** The user's id. */
  user: Snowflake;
  /** Names of permissions. */
  permissions: Array<'FOUNDER' | 'BOT_DEVELOPER' | 'EXECUTIVE' | 'MANAGEMENT' | 'WEB_DEVELOPER' | 'SUPPORT' | 'SERVICE_STAFF' | 'QUALITY_ASSURANCE' | 'DOCWRITER'>;
};

/** Permissions granted to a user by name. */
export type StaffRecord = {
  /** Names of permissions. */
  permissions: Array<'FOUNDER' | 'BOT_DEVELOPER' | 'EXECUTIVE' | 'MANAGEMENT' | 'WEB_DEVELOPER' | 'SUPPORT' | 'SERVICE_STAFF' | 'QUALITY_ASSURANCE' | 'DOCWRITER'>;
};

/** Status of the service and the bot. */
export type Status = {
  version: Version;
  resources: Resources;
  health: Health;
};

/** A change of settings by a user. */
export type StoredChange = {
  guild: Snowflake;
  /** The revision that it made. */
  revision: number;
  /** When, in seconds since 1970. */
  at: number;
  /** What was different: the field and its value before and after; null is unset. */
  changes: Array<Record<string, unknown>>;
};

/** A feedback entry of any rating. */
export type StoredFeedback = {
  id: string;
  /** The text; empty for a rating without one. */
  feedback: string;
  rating: number;
  /** When it was submitted, in seconds since 1970. */
  timestamp: number;
  submitter: User;
};

/** A grant of the platform. Its tokens are sealed and never shown. */
export type StoredGrant = {
  /** Whether the platform's sealed tokens are stored. */
  tokens: boolean;
  /** The display name at the sign-in; null if it is not stored. */
  name: string | null;
  /** URL of the picture at the sign-in; null if it is not stored. */
  avatar: string | null;
  /** When the platform's list of guilds was fetched, in seconds since 1970; null if it was not. */
  fetched: number | null;
  /** The platform's list of guilds. */
  guilds: Array<StoredMembership>;
  /** Guilds of that list that the user manages and that lacked the bot, at most 200. */
  without_bot: Array<StoredNamedGuild>;
};

/** The user's platform roles in a guild. */
export type StoredMember = {
  guild: Snowflake;
  roles: Array<Snowflake>;
};

/** A guild in the platform's list. */
export type StoredMembership = {
  guild: Snowflake;
  /** Whether the user owns it. */
  owner: boolean;
  /** The platform's permission bits of the user there, as a decimal number in a string. */
  permissions: string;
};

/** The name of a guild without the bot. */
export type StoredNamedGuild = {
  guild: Snowflake;
  name: string;
  /** URL of the icon; null if there is none. */
  icon: string | null;
};

/** A stored session. */
export type StoredSession = {
  /** The session's id: the SHA-256 of its token. */
  id: string;
  /** When it was created, in seconds since 1970. */
  created: number;
  /** When it was last used, as last written to the store, in seconds since 1970. */
  seen: number;
  /** The `User-Agent` of its sign-in, at most 256 characters; null if unknown. */
  user_agent: string | null;
};

/** A subscription. */
export type StoredSubscription = {
  guilds: Array<Snowflake>;
  slots: number;
};

/** All stored data of a user: what forgetting them would remove. */
export type StoredUser = {
  user: Snowflake;
  /** The sessions, the oldest first. */
  sessions: Array<StoredSession>;
  grant: StoredGrant | null;
  /** The user's platform roles, as the bot reported them, by guild. */
  members: Array<StoredMember>;
  plus: StoredSubscription | null;
  /** Staff grants of the user. */
  staff: Array<string>;
  /** Feedback of the user, by id. */
  feedback: Array<StoredFeedback>;
  /** Changes of settings by the user, by guild. Forgetting keeps them, without the user. */
  settings: Array<StoredChange>;
};

/** A user's premium subscription. */
export type SubscriptionLine = {
  kind: 'plus';
  /** The user's id. */
  user: Snowflake;
  /** The guilds that the subscription makes premium. */
  guilds: Array<Snowflake>;
  /** Number of guilds that the subscription may name. */
  slots: number;
};

/** A user's premium subscription. */
export type SubscriptionRecord = {
  /** The guilds that the subscription makes premium. */
  guilds: Array<Snowflake>;
  /** Number of guilds that the subscription may name. */
  slots: number;
};

/** One record, on one line. */
export type SyncLine = GuildLine | MemberLine | SubscriptionLine | StaffLine | BlockedLine | FeedbackLine | TeamMemberLine | OutlineLine;

/** The whole team. A user is listed at most once per category: entries with the same `discord_id` and `category` are rejected with 422. */
export type Team = Array<TeamMemberRecord>;

/** A member of the team. */
export type TeamMember = {
  /** The unique name. */
  username: string;
  /** The display name. */
  name: string;
  /** URL of a picture. */
  avatar: string;
  /** The identity provider's id of the user. */
  discord_id: Snowflake;
  /** The title of the role. */
  role: string;
  /** Colour of the role. */
  color: string;
  /** Category within the team. */
  category: string;
  /** Position within the category; lower comes first. */
  position: number;
};

/** A place in the team. */
export type TeamMemberLine = {
  kind: 'team';
  /** The unique name. */
  username: string;
  /** The display name. */
  name: string;
  /** The URL of a picture. */
  avatar: string;
  /** The identity provider's id of the user. */
  discord_id: Snowflake;
  /** The title of the role. */
  role: string;
  /** The colour of the role. */
  color: string;
  /** The category. */
  category: string;
  /** The order within the category, ascending. */
  position: number;
};

/** A place in the team. */
export type TeamMemberRecord = {
  /** The unique name. */
  username: string;
  /** The display name. */
  name: string;
  /** The URL of a picture. */
  avatar: string;
  /** The identity provider's id of the user. */
  discord_id: Snowflake;
  /** The title of the role. */
  role: string;
  /** The colour of the role. */
  color: string;
  /** The category. */
  category: string;
  /** The order within the category, ascending. */
  position: number;
};

/** Uptime of the bot. */
export type Uptime = {
  /** In words, or `not reporting`. */
  readable: string;
  /** Start time in seconds since 1970; 0 while no cluster reports. */
  epoch: number;
};

/** A user of the chat platform. */
export type User = {
  /** The unique name. */
  username: string;
  /** The display name. */
  name: string;
  /** The identity provider's id of the user. */
  id: Snowflake;
  /** URL of a picture. */
  avatar: string;
};

/** A user of the chat platform. */
export type UserRecord = {
  /** The unique name. */
  username: string;
  /** The display name. */
  name: string;
  /** The identity provider's id of the user. */
  id: Snowflake;
  /** The URL of a picture. */
  avatar: string;
};

/** The running version. */
export type Version = {
  /** The version. */
  name: string;
  /** The branch that it was built from. */
  branch: string;
  /** The commit that it was built from. */
  commit: Commit;
};

/** What went wrong, in a word for programs. */
export type ErrorWord =
  | 'blocked'
  | 'body_invalid'
  | 'body_timeout'
  | 'body_too_large'
  | 'header_invalid'
  | 'idp_code_invalid'
  | 'idp_code_missing'
  | 'idp_scope_missing'
  | 'input_invalid'
  | 'internal'
  | 'kept_elsewhere'
  | 'key_invalid'
  | 'key_missing'
  | 'key_scope_missing'
  | 'not_found'
  | 'not_ready'
  | 'origin_refused'
  | 'overloaded'
  | 'provider_failed'
  | 'provider_limited'
  | 'provider_timeout'
  | 'rate_limited'
  | 'settings_changed'
  | 'sign_in_not_configured'
  | 'storage_unavailable'
  | 'token_invalid'
  | 'token_missing';

/** Each operation of both APIs: what it takes, what it gives, and the words of its errors. */
export interface Operations {
  /** The status of the service and the bot. */
  getStatus: {
    input: { 'Sent-Epoch'?: string };
    data: Status;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'internal'
      | 'overloaded'
      | 'storage_unavailable';
  };
  /** Exchange the identity provider's code for a session. */
  createSession: {
    input: { 'Idp-Code': string; 'Idp-Code-Verifier'?: string };
    data: Session;
    errors:
      | 'blocked'
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'header_invalid'
      | 'idp_code_invalid'
      | 'idp_code_missing'
      | 'idp_scope_missing'
      | 'internal'
      | 'origin_refused'
      | 'overloaded'
      | 'provider_failed'
      | 'provider_limited'
      | 'provider_timeout'
      | 'rate_limited'
      | 'sign_in_not_configured'
      | 'storage_unavailable';
  };
  /** The guilds that the session's user runs and that have the bot. */
  listGuilds: {
    input: { 'Token': SessionToken };
    data: Array<Guild>;
    errors:
      | 'blocked'
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'header_invalid'
      | 'internal'
      | 'overloaded'
      | 'provider_limited'
      | 'storage_unavailable'
      | 'token_invalid'
      | 'token_missing';
  };
  /** What people like about the bot. */
  pickFeedback: {
    input: Record<never, never>;
    data: Array<FeedbackEntry>;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'internal'
      | 'overloaded'
      | 'storage_unavailable';
  };
  /** The team that maintains the bot. */
  getTeam: {
    input: Record<never, never>;
    data: Array<TeamMember>;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'internal'
      | 'overloaded'
      | 'storage_unavailable';
  };
  /** Check that the process is alive. */
  isAlive: {
    input: Record<never, never>;
    data: Nothing;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'internal';
  };
  /** Check that the service is ready for traffic. */
  isReady: {
    input: Record<never, never>;
    data: Nothing;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'internal'
      | 'not_ready';
  };
  /** Read the metrics. */
  getMetrics: {
    input: Record<never, never>;
    data: string;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'rate_limited';
  };
  /** Watch changes as they happen. */
  watchChanges: {
    input: { 'kinds'?: string; 'since'?: string; 'Last-Event-ID'?: string };
    data: string;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited';
  };
  /** Read what is set in all guilds. */
  listSettings: {
    input: { 'shard'?: number; 'shards'?: number };
    data: string;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Read this document. */
  getDocument: {
    input: Record<never, never>;
    data: Record<string, unknown>;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'internal';
  };
  /** Read this document as an HTML page. */
  getReference: {
    input: Record<never, never>;
    data: string;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'internal';
  };
  /** Read a guild. */
  getGuild: {
    input: { 'guild': Snowflake };
    data: GuildRecord;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Report a guild that has the bot. */
  putGuild: {
    input: { 'guild': Snowflake; body: GuildRecord };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'kept_elsewhere'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Remove a guild that the bot has left. */
  removeGuild: {
    input: { 'guild': Snowflake };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'kept_elsewhere'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Read the roles of a member. */
  getMember: {
    input: { 'guild': Snowflake; 'user': Snowflake };
    data: MemberRecord;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Report the roles of a member. */
  putMember: {
    input: { 'guild': Snowflake; 'user': Snowflake; body: MemberRecord };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'kept_elsewhere'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Remove a member who has left or has no roles. */
  removeMember: {
    input: { 'guild': Snowflake; 'user': Snowflake };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'kept_elsewhere'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Read the names of a guild's channels and roles. */
  getOutline: {
    input: { 'guild': Snowflake };
    data: OutlineRecord;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Report the names of a guild's channels and roles. */
  putOutline: {
    input: { 'guild': Snowflake; body: OutlineRecord };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'kept_elsewhere'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Remove the names of a guild's channels and roles. */
  removeOutline: {
    input: { 'guild': Snowflake };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'kept_elsewhere'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Read a user's subscription. */
  getPlus: {
    input: { 'user': Snowflake };
    data: SubscriptionRecord;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Report a user's subscription. */
  putPlus: {
    input: { 'user': Snowflake; body: SubscriptionRecord };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Remove a user's subscription. */
  removePlus: {
    input: { 'user': Snowflake };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Read a user's staff grants. */
  getStaff: {
    input: { 'user': Snowflake };
    data: StaffRecord;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Set a user's staff grants. */
  putStaff: {
    input: { 'user': Snowflake; body: StaffRecord };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Remove a user's staff grants. */
  removeStaff: {
    input: { 'user': Snowflake };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Read a feedback entry. */
  getFeedback: {
    input: { 'id': string };
    data: FeedbackRecord;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Report a feedback entry. */
  putFeedback: {
    input: { 'id': string; body: FeedbackRecord };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'kept_elsewhere'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Remove a feedback entry. */
  removeFeedback: {
    input: { 'id': string };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'kept_elsewhere'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Check whether a user is blocked. */
  isBlocked: {
    input: { 'user': Snowflake };
    data: BlockedRecord;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Block a user. */
  block: {
    input: { 'user': Snowflake };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'kept_elsewhere'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Unblock a user. */
  unblock: {
    input: { 'user': Snowflake };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'kept_elsewhere'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Read a notice. */
  getNotice: {
    input: { 'id': string };
    data: NoticeRecord;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Publish a notice on the status page. */
  putNotice: {
    input: { 'id': string; body: NoticeRecord };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Remove a notice, from the history too. */
  removeNotice: {
    input: { 'id': string };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Explain why a user sees a guild or does not. */
  explainGuild: {
    input: { 'guild': Snowflake; 'user': Snowflake };
    data: Explanation;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Replace the whole team. */
  putTeam: {
    input: { body: Team };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'kept_elsewhere'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Report the state of a cluster of the bot. */
  putHeartbeat: {
    input: { 'cluster': string; body: ClusterReport };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'kept_elsewhere'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Sign a cluster of the bot off. */
  signOffCluster: {
    input: { 'cluster': string };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'kept_elsewhere'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Read the schema of settings. */
  getSettingsSchema: {
    input: Record<never, never>;
    data: SentSchema;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Publish the schema of settings. */
  putSettingsSchema: {
    input: { body: SentSchema };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Read the settings of a guild. */
  getSettings: {
    input: { 'guild': Snowflake };
    data: GuildSettings;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Remove the settings of a guild. */
  removeSettings: {
    input: { 'guild': Snowflake };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Change settings of a guild. */
  patchSettings: {
    input: { 'guild': Snowflake; 'If-Match'?: string; body: SettingsPatch };
    data: GuildSettings;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'header_invalid'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'settings_changed'
      | 'storage_unavailable';
  };
  /** Confirm that the bot acts by a revision. */
  putApplied: {
    input: { 'guild': Snowflake; body: SettingsConfirmation };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Read the history of a guild's settings. */
  getSettingsHistory: {
    input: { 'guild': Snowflake };
    data: Array<SettingsChange>;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Report the whole world as one change. */
  sync: {
    input: { 'replace'?: Array<'all' | 'guilds' | 'members' | 'plus' | 'staff' | 'blocked' | 'feedback' | 'team' | 'outlines'>; 'shard'?: number; 'shards'?: number; body: Iterable<SyncLine> };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'input_invalid'
      | 'internal'
      | 'kept_elsewhere'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** List the live sessions of a user. */
  listSessions: {
    input: { 'user': Snowflake };
    data: Array<LiveSession>;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** End the session of a token. */
  signOut: {
    input: { 'Token': SessionToken };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'header_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable'
      | 'token_invalid'
      | 'token_missing';
  };
  /** End a session. */
  revokeSession: {
    input: { 'id': string };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** End all sessions of a user. */
  revokeSessions: {
    input: { 'user': Snowflake };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Read all stored data of a user. */
  getUser: {
    input: { 'user': Snowflake };
    data: StoredUser;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'not_found'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
  /** Forget a user. */
  forgetUser: {
    input: { 'user': Snowflake };
    data: Changes;
    errors:
      | 'body_invalid'
      | 'body_timeout'
      | 'body_too_large'
      | 'input_invalid'
      | 'internal'
      | 'key_invalid'
      | 'key_missing'
      | 'key_scope_missing'
      | 'overloaded'
      | 'rate_limited'
      | 'storage_unavailable';
  };
}

/** Method, path, listener, and where each parameter goes. */
const OPERATIONS = {
  getStatus: { method: 'GET', path: '/', listener: 'public', body: 'none', places: {"Sent-Epoch":"header"} },
  createSession: { method: 'POST', path: '/auth', listener: 'public', body: 'none', places: {"Idp-Code":"header","Idp-Code-Verifier":"header"} },
  listGuilds: { method: 'GET', path: '/guilds', listener: 'public', body: 'none', places: {"Token":"header"} },
  pickFeedback: { method: 'GET', path: '/feedback', listener: 'public', body: 'none', places: {} },
  getTeam: { method: 'GET', path: '/team', listener: 'public', body: 'none', places: {} },
  isAlive: { method: 'GET', path: '/health/live', listener: 'management', body: 'none', places: {} },
  isReady: { method: 'GET', path: '/health/ready', listener: 'management', body: 'none', places: {} },
  getMetrics: { method: 'GET', path: '/metrics', listener: 'management', body: 'none', places: {} },
  watchChanges: { method: 'GET', path: '/bot/changes', listener: 'management', body: 'none', places: {"kinds":"query","since":"query","Last-Event-ID":"header"} },
  listSettings: { method: 'GET', path: '/bot/settings/guilds', listener: 'management', body: 'none', places: {"shard":"query","shards":"query"} },
  getDocument: { method: 'GET', path: '/openapi.json', listener: 'management', body: 'none', places: {} },
  getReference: { method: 'GET', path: '/docs', listener: 'management', body: 'none', places: {} },
  getGuild: { method: 'GET', path: '/bot/guilds/{guild}', listener: 'management', body: 'none', places: {"guild":"path"} },
  putGuild: { method: 'PUT', path: '/bot/guilds/{guild}', listener: 'management', body: 'json', places: {"guild":"path"} },
  removeGuild: { method: 'DELETE', path: '/bot/guilds/{guild}', listener: 'management', body: 'none', places: {"guild":"path"} },
  getMember: { method: 'GET', path: '/bot/guilds/{guild}/members/{user}', listener: 'management', body: 'none', places: {"guild":"path","user":"path"} },
  putMember: { method: 'PUT', path: '/bot/guilds/{guild}/members/{user}', listener: 'management', body: 'json', places: {"guild":"path","user":"path"} },
  removeMember: { method: 'DELETE', path: '/bot/guilds/{guild}/members/{user}', listener: 'management', body: 'none', places: {"guild":"path","user":"path"} },
  getOutline: { method: 'GET', path: '/bot/guilds/{guild}/outline', listener: 'management', body: 'none', places: {"guild":"path"} },
  putOutline: { method: 'PUT', path: '/bot/guilds/{guild}/outline', listener: 'management', body: 'json', places: {"guild":"path"} },
  removeOutline: { method: 'DELETE', path: '/bot/guilds/{guild}/outline', listener: 'management', body: 'none', places: {"guild":"path"} },
  getPlus: { method: 'GET', path: '/bot/plus/{user}', listener: 'management', body: 'none', places: {"user":"path"} },
  putPlus: { method: 'PUT', path: '/bot/plus/{user}', listener: 'management', body: 'json', places: {"user":"path"} },
  removePlus: { method: 'DELETE', path: '/bot/plus/{user}', listener: 'management', body: 'none', places: {"user":"path"} },
  getStaff: { method: 'GET', path: '/bot/staff/{user}', listener: 'management', body: 'none', places: {"user":"path"} },
  putStaff: { method: 'PUT', path: '/bot/staff/{user}', listener: 'management', body: 'json', places: {"user":"path"} },
  removeStaff: { method: 'DELETE', path: '/bot/staff/{user}', listener: 'management', body: 'none', places: {"user":"path"} },
  getFeedback: { method: 'GET', path: '/bot/feedback/{id}', listener: 'management', body: 'none', places: {"id":"path"} },
  putFeedback: { method: 'PUT', path: '/bot/feedback/{id}', listener: 'management', body: 'json', places: {"id":"path"} },
  removeFeedback: { method: 'DELETE', path: '/bot/feedback/{id}', listener: 'management', body: 'none', places: {"id":"path"} },
  isBlocked: { method: 'GET', path: '/bot/blocked/{user}', listener: 'management', body: 'none', places: {"user":"path"} },
  block: { method: 'PUT', path: '/bot/blocked/{user}', listener: 'management', body: 'none', places: {"user":"path"} },
  unblock: { method: 'DELETE', path: '/bot/blocked/{user}', listener: 'management', body: 'none', places: {"user":"path"} },
  getNotice: { method: 'GET', path: '/bot/notices/{id}', listener: 'management', body: 'none', places: {"id":"path"} },
  putNotice: { method: 'PUT', path: '/bot/notices/{id}', listener: 'management', body: 'json', places: {"id":"path"} },
  removeNotice: { method: 'DELETE', path: '/bot/notices/{id}', listener: 'management', body: 'none', places: {"id":"path"} },
  explainGuild: { method: 'GET', path: '/bot/guilds/{guild}/why/{user}', listener: 'management', body: 'none', places: {"guild":"path","user":"path"} },
  putTeam: { method: 'PUT', path: '/bot/team', listener: 'management', body: 'json', places: {} },
  putHeartbeat: { method: 'PUT', path: '/bot/clusters/{cluster}/heartbeat', listener: 'management', body: 'json', places: {"cluster":"path"} },
  signOffCluster: { method: 'DELETE', path: '/bot/clusters/{cluster}', listener: 'management', body: 'none', places: {"cluster":"path"} },
  getSettingsSchema: { method: 'GET', path: '/bot/settings', listener: 'management', body: 'none', places: {} },
  putSettingsSchema: { method: 'PUT', path: '/bot/settings', listener: 'management', body: 'json', places: {} },
  getSettings: { method: 'GET', path: '/bot/guilds/{guild}/settings', listener: 'management', body: 'none', places: {"guild":"path"} },
  removeSettings: { method: 'DELETE', path: '/bot/guilds/{guild}/settings', listener: 'management', body: 'none', places: {"guild":"path"} },
  patchSettings: { method: 'PATCH', path: '/bot/guilds/{guild}/settings', listener: 'management', body: 'json', places: {"guild":"path","If-Match":"header"} },
  putApplied: { method: 'PUT', path: '/bot/guilds/{guild}/settings/applied', listener: 'management', body: 'json', places: {"guild":"path"} },
  getSettingsHistory: { method: 'GET', path: '/bot/guilds/{guild}/settings/history', listener: 'management', body: 'none', places: {"guild":"path"} },
  sync: { method: 'POST', path: '/bot/sync', listener: 'management', body: 'lines', places: {"replace":"query","shard":"query","shards":"query"} },
  listSessions: { method: 'GET', path: '/sessions', listener: 'management', body: 'none', places: {"user":"query"} },
  signOut: { method: 'POST', path: '/sessions/sign-out', listener: 'management', body: 'none', places: {"Token":"header"} },
  revokeSession: { method: 'DELETE', path: '/sessions/{id}', listener: 'management', body: 'none', places: {"id":"path"} },
  revokeSessions: { method: 'DELETE', path: '/users/{user}/sessions', listener: 'management', body: 'none', places: {"user":"path"} },
  getUser: { method: 'GET', path: '/users/{user}', listener: 'management', body: 'none', places: {"user":"path"} },
  forgetUser: { method: 'DELETE', path: '/users/{user}', listener: 'management', body: 'none', places: {"user":"path"} },
} as const;
// End of what is generated.
