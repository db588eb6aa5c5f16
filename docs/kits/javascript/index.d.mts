import type { Client, Guild } from 'discord.js';

type Awaitable<T> = T | PromiseLike<T>;

/** A permission that roles of a guild can be bound to. */
export type BoundKey = 'MOD' | 'ADMIN' | 'ERLC_STAFF' | 'ERLC_ADMIN' | 'ERLC_MANAGER' | 'SESSION_STARTER';

/** A kind that only the bot knows records of. */
export type FactKind = 'plus' | 'staff' | 'team' | 'feedback' | 'blocked';

/** What only the bot knows about a guild. An absent field is false or empty. */
export interface GuildFacts {
  setup?: boolean | undefined;
  linked?: boolean | undefined;
  roles?: { readonly [key in BoundKey]?: Iterable<string> | undefined } | undefined;
}

/** Facts by the id of their guild. */
export type FactsById = ReadonlyMap<string, GuildFacts> | { readonly [guild: string]: GuildFacts };

export interface PlusRecord {
  user: string;
  guilds: readonly string[];
  slots: number;
}

export interface StaffRecord {
  user: string;
  permissions: readonly string[];
}

export interface TeamRecord {
  username: string;
  name: string;
  avatar: string;
  discord_id: string;
  role: string;
  color: string;
  category: string;
  position: number;
}

export interface FeedbackRecord {
  id: string;
  feedback: string;
  rating: number;
  timestamp: number;
  submitter: { username: string; name: string; id: string; avatar: string };
}

/** A permission of a user in a guild. */
export type Permission =
  | BoundKey
  | 'MANAGE_SERVER'
  | 'SETUP'
  | 'ERLC_LINKED'
  | 'SERVICE_PLUS_GUILD'
  | 'SERVICE_PLUS_MEMBER'
  | 'FOUNDER'
  | 'BOT_DEVELOPER'
  | 'EXECUTIVE'
  | 'MANAGEMENT'
  | 'WEB_DEVELOPER'
  | 'SUPPORT'
  | 'SERVICE_STAFF'
  | 'QUALITY_ASSURANCE'
  | 'DOCWRITER';

/** A field of a section, in the members of the management API. Without a `default` it is unset: null. */
export interface Field {
  key: string;
  type: 'boolean' | 'integer' | 'number' | 'text' | 'choice' | 'color' | 'channel' | 'role';
  title: string;
  description?: string | undefined;
  default?: boolean | number | string | readonly string[] | undefined;
  min?: number | undefined;
  max?: number | undefined;
  unit?: string | undefined;
  min_length?: number | undefined;
  max_length?: number | undefined;
  multiline?: boolean | undefined;
  choices?: readonly { value: string; title: string }[] | undefined;
  kinds?: readonly ('text' | 'voice' | 'category' | 'forum' | 'announcement')[] | undefined;
  /** Makes the value an array. */
  many?: { min?: number | undefined; max: number } | undefined;
}

/** Fields that users with `permission` may edit. */
export interface Section {
  key: string;
  title: string;
  description?: string | undefined;
  permission: Permission;
  plus?: boolean | undefined;
  visible?: boolean | undefined;
  fields: readonly Field[];
}

/** The settings of a guild by `section.field`: values or else defaults. A key that is not declared throws a `TypeError`. */
export type GuildSettings = { readonly [key: string]: any };

/**
 * Called with the keys that changed: all of them if the change was made while the bot was away. It may throw a
 * `SettingsProblem`. Calls for one guild never overlap.
 */
export type SettingsHandler = (
  guildId: string,
  settings: GuildSettings,
  changed: ReadonlySet<string>,
) => Awaitable<unknown>;

/** Returns all records of a kind: those that are left out are removed. */
export type RecordsCallback<T> = () => Awaitable<Iterable<T>>;

/** A request that the service accepted. */
export interface Posted {
  what: 'snapshot' | 'changes' | 'removal' | 'facts' | 'outlines' | 'settings' | 'heartbeat';
  lines: number;
  /** Bytes of the body. */
  size: number;
  seconds: number;
  added: number;
  changed: number;
  removed: number;
}

/** Totals since the start. */
export interface Stats {
  requests: number;
  failures: number;
  bytes: number;
  lines: number;
  snapshots: number;
  heartbeats: number;
}

export interface Log {
  warn(message: string): unknown;
  info(message: string): unknown;
}

export interface Options {
  /** Address of the management API, for example `http://127.0.0.1:8081`. */
  url: string;
  /** A key of the management API. */
  key: string;
  /** Name of this process. Default: `cluster-` and its lowest shard. */
  cluster?: string | undefined;
  /** Returns the facts of one guild. Excludes `guilds`. */
  guild?: ((guild: Guild) => Awaitable<GuildFacts>) | undefined;
  /** Returns the facts of many guilds by id, in one call. A guild without an entry has none. Excludes `guild`. */
  guilds?: ((guilds: readonly Guild[]) => Awaitable<FactsById>) | undefined;
  plus?: RecordsCallback<PlusRecord> | undefined;
  staff?: RecordsCallback<StaffRecord> | undefined;
  team?: RecordsCallback<TeamRecord> | undefined;
  feedback?: RecordsCallback<FeedbackRecord> | undefined;
  /** Ids of users, or records with `user`. */
  blocked?: RecordsCallback<string | { user: string }> | undefined;
  /** What people can set for a guild on the site. */
  settings?: readonly Section[] | undefined;
  /** Whether to report the names of channels and roles. Default: true with `settings`. */
  outlines?: boolean | undefined;
  /** Receives errors (`warn`) and the end of outages (`info`). Default: `console`. */
  log?: Log | undefined;
  onPosted?: ((posted: Posted) => unknown) | undefined;
  onError?: ((error: CompanionError) => unknown) | undefined;
  /** Milliseconds for which changes are gathered. Default: 2,000. */
  flushAfter?: number | undefined;
  /** Milliseconds between two reports of a guild's number of members. Default: 60,000. */
  countsEvery?: number | undefined;
  /** Default: 20,000. */
  heartbeatEvery?: number | undefined;
  /** Milliseconds for which the first heartbeat waits for all shards. Default: 60,000. */
  firstHeartbeatWithin?: number | undefined;
  /** Default: six hours. */
  snapshotEvery?: number | undefined;
  /** Milliseconds of an outage after which snapshots are sent. Default: 300,000. */
  snapshotAfterOutage?: number | undefined;
  /** Milliseconds that `stop` may take. Default: 5,000. */
  stopWithin?: number | undefined;
  /** Members that are marked one by one as changed; above it, whole guilds are compared. Default: 10,000. */
  maxMembers?: number | undefined;
}

type GuildOrId = string | { readonly id: string };

/** Reports the guilds, members and shards of a client to the management API. */
export declare class Companion {
  /** Throws a `TypeError` if an option cannot work. */
  constructor(client: Client, options: Options);
  readonly stats: Readonly<Stats>;
  /** The number of ids that are marked as changed and not sent yet. */
  get pending(): number;
  /** Returns the settings of a guild from memory: what the service sent last, and before that the defaults. */
  settings(guild: GuildOrId): GuildSettings;
  /** Registers the function that is called when settings change. Once it has returned, the site shows them as in force. */
  onSettings(handler: SettingsHandler): void;
  /** Tells the kit that the bot's own facts about these guilds changed. */
  guildChanged(...guilds: (GuildOrId | Iterable<GuildOrId> | ReadonlyMap<string, GuildOrId>)[]): void;
  /** Tells the kit that records of these kinds changed. */
  factsChanged(...kinds: FactKind[]): void;
  /** Sends what is pending without the usual delay; whether all of it arrived in time. Default: 60,000 ms. */
  flush(timeout?: number): Promise<boolean>;
  /** Sends what is pending, for `stopWithin` at most, and detaches from the client. `client.destroy()` calls it. */
  stop(): Promise<void>;
}

/**
 * A failed request or callback. `word` is the error word of the service, or one of the kit: `unreachable`,
 * `unreadable`, `callback_failed`, `members_unknown` or `kit_failed`.
 */
export declare class CompanionError extends Error {
  constructor(
    word: string,
    message: string,
    more?: {
      status?: number | undefined;
      retryAfter?: number | undefined;
      fields?: readonly { path: string; message: string }[] | undefined;
      cause?: unknown;
    },
  );
  readonly word: string;
  readonly status: number | undefined;
  /** Milliseconds. */
  readonly retryAfter: number | undefined;
  readonly fields: readonly { path: string; message: string }[];
  /** Whether the service did not serve the request, as opposed to refusing its content. */
  get isOutage(): boolean;
  /** The number of the line that a sync was refused for. */
  get wrongLine(): number | undefined;
}

/** Thrown by a handler of settings: maps each key that cannot come into force to the reason, for the site. */
export declare class SettingsProblem extends Error {
  constructor(problems: { readonly [key: string]: string });
  readonly problems: { readonly [key: string]: string };
}
