//! The table of keys: every key with its type, default and purpose.
//!
//! Everything else is generated from this table: the typed [`Configuration`], `config show`, `config sample`, `config
//! schema`, suggestions for unknown keys, and the check of `docs/configuration.md`. To add a key, add a line; a new
//! type of value implements [`Setting`].

use super::{
    addresses::{AddressRange, ListenAddress, RedirectUri, SiteUrl},
    appearance::Features,
    error::Source,
    reader::Reader,
    secrets::{Keyring, ManagementKeys, ScopedKeys, SecretUrl},
    setting::{ByteSize, ClientId, Line, LogFormat, Provider, Setting},
    storage_url::StorageUrl,
};
use crate::system::SystemEntropy;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use companion_dashboard::{Accent, PermissionTexts};
use companion_domain::{
    model::{Name, Secret, Span, WebUrl},
    port::Entropy as _,
};
use companion_http::Origin;
use std::{borrow::Cow, num::NonZeroU32, path::PathBuf};
use tracing_subscriber::filter::LevelFilter;

macro_rules! keys {
    ($($(#[$doc:meta])* $table:ident: $Table:ident {
        $($name:ident: $type:ty = $default:expr, $about:literal;)+
    })+) => {
        /// A complete configuration: every value is valid, and no two contradict each other.
        #[derive(Debug, Clone)]
        pub struct Configuration {
            $($(#[$doc])* pub $table: $Table,)+
        }

        $(
            $(#[$doc])*
            #[derive(Debug, Clone)]
            pub struct $Table {
                $(#[doc = $about] pub $name: $type,)+
            }
        )+

        /// Every key, table by table.
        pub static KEYS: &[Key] = &[$($(Key {
            table: stringify!($table),
            name: stringify!($name),
            path: concat!(stringify!($table), ".", stringify!($name)),
            default: $default,
            secret: <$type as Setting>::SECRET,
            about: $about,
            schema: <$type as Setting>::schema,
        },)+)+];

        impl Configuration {
            /// Reads all keys before it gives up, so that every error is reported.
            pub(super) fn read(reader: &mut Reader) -> Option<Self> {
                $(let $table = {
                    $(let $name = reader.read::<$type>(Key::named(concat!(stringify!($table), ".", stringify!($name)))?);)+
                    (|| Some($Table { $($name: $name?,)+ }))()
                };)+
                Some(Self { $($table: $table?,)+ })
            }
        }
    };
}

keys! {
    /// The public API.
    http: Http {
        listen: ListenAddress = value("\"127.0.0.1:8080\""),
            "Host and port of the public API; port 0 takes a free one.";
        allowed_origins: Vec<Origin> = empty_list("[\"https://dashboard.example\"]"),
            "Origins of web pages whose scripts may call the public API.";
        trusted_proxies: Vec<AddressRange> = empty_list("[\"10.0.0.0/8\"]"),
            "Addresses of reverse proxies whose word about the client's address counts.";
        sign_out: bool = value("false"),
            "Whether `DELETE /auth` ends a session.";
        settings: bool = value("false"),
            "Whether the public API has `GET` and `PATCH /guilds/{guild}/settings`.";
        workers: Option<NonZeroU32> = without("one for each processor core", "2"),
            "Threads that answer public requests.";
        tls_certificate: Option<PathBuf> = without("none: plain HTTP", "\"fullchain.pem\""),
            "File with the certificate of the public API and the dashboard, and those of its issuers, in PEM; read again when it \
             changes.";
        tls_key: Option<PathBuf> = without("none: plain HTTP", "\"privkey.pem\""),
            "File with the private key of that certificate, in PEM; read again when it changes.";
    }
    /// The management API.
    management: Management {
        listen: ListenAddress = value("\"127.0.0.1:8081\""),
            "Host and port of the management API; port 0 takes a free one.";
        key: Option<ManagementKeys> = MADE,
            "Key of the management API, 16 characters or more, or a list of keys that all open it.";
        keys: ScopedKeys = empty_table("{ bot = { key_file = \"bot.key\", scopes = [\"feed\"] } }"),
            "Keys for a part of the management API: a table from a name to `key` or `key_file` and `scopes`, out of `feed`, \
             `people` and `metrics`. With one of these no `management.key` is made.";
    }
    /// The dashboard.
    dashboard: Dashboard {
        listen: Option<ListenAddress> = without("none: it is off", "\"127.0.0.1:8082\""),
            "Host and port of the dashboard; port 0 takes a free one.";
        url: Option<SiteUrl> = without("none", "\"https://dashboard.example\""),
            "Address of the dashboard as browsers see it: https, or http on loopback. The platform sends users back to \
             `/callback` there.";
        name: Line<64> = value("\"Companion\""),
            "What the bot is called on its pages.";
        invite_url: Option<WebUrl> = without("none", "\"https://bot.example/invite\""),
            "Where the bot is invited to a guild.";
        support_url: Option<WebUrl> = without("none", "\"https://bot.example/support\""),
            "Where people get help.";
        permissions: PermissionTexts = empty_table(
            "{ SESSION_STARTER = { label = \"Shift lead\", about = \"Starts and ends shifts.\", group = \"Shifts\" }, ERLC_LINKED = false }"
        ),
            "Permissions in the bot's own words: a table from a permission to `label`, `about` and `group`, of which any may be \
             left out, or to `false`, which hides it.";
        tagline: Option<Line<160>> = without("none", "\"Runs your roleplay server.\""),
            "What the bot is for, in a sentence of at most 160 characters: on the home page and in previews of links.";
        logo_file: Option<PathBuf> = without("none: ours", "\"logo.svg\""),
            "File with the logo: PNG, SVG or WebP of at most 64 KiB, read at the start.";
        accent: Option<Accent> = without("none: ours", "\"#3a3fd0\""),
            "Colour of buttons and links, as `#RRGGBB`, dark enough to be read on light pages; the dark theme has a lighter one.";
        features: Features = empty_list("[{ title = \"Settings\", text = \"Change them in a browser.\" }]"),
            "What the bot can do, for the home page: up to six of `title` and `text`.";
    }
    /// Storage.
    storage: Storage {
        url: StorageUrl = value("\"sqlite:companion.db\""),
            "`sqlite:PATH`, `postgres://…`, or `memory:`, which forgets everything when the program ends.";
    }
    /// The identity provider.
    identity: Identity {
        provider: Provider = value("\"discord\""),
            "The chat platform that signs users in.";
        client_id: Option<ClientId> = without("none", "\"123456789012345678\""),
            "Client id of the platform's application.";
        client_secret: Option<Secret> = without("none", "\"the-client-secret\""),
            "Client secret of the platform's application.";
        redirect_uri: Option<RedirectUri> = without("none", "\"https://dashboard.example/callback\""),
            "Where the platform sends users back to: one URL, or a table from origin to URL with a `default`.";
        keep_tokens: bool = value("true"),
            "Whether platform tokens are kept, sealed, so that the list of guilds can be refreshed. Without them a sign-in \
             needs the list.";
        api_url: WebUrl = value("\"https://discord.com/api/v10\""),
            "Address of the platform's API.";
        authorize_url: WebUrl = value("\"https://discord.com/oauth2/authorize\""),
            "Where the platform asks users whether they want to sign in, for the dashboard.";
        cdn_url: WebUrl = value("\"https://cdn.discordapp.com\""),
            "Address of the platform's pictures.";
    }
    /// The service's own keys.
    secrets: Secrets {
        key: Option<Keyring> = MADE,
            "Base64 of 32 random bytes that sign sessions and seal platform tokens, or a list: the first is used, all are accepted.";
    }
    /// Lifetimes of sessions.
    sessions: Sessions {
        lifetime: Span = value("\"30d\""),
            "How long a session lives, used or not.";
        idle: Span = value("\"7d\""),
            "How long a session may go unused.";
        per_user: NonZeroU32 = value("10"),
            "How many sessions a user may have; the oldest goes.";
    }
    /// Freshness of guild lists.
    guilds: Guilds {
        refresh_after: Span = value("\"60s\""),
            "A list of guilds older than this is fetched again.";
        stale_for: Span = value("\"24h\""),
            "A list of guilds that cannot be fetched again is served until it is this old.";
    }
    /// The cache.
    cache: Cache {
        memory: ByteSize = value("\"256 MiB\""),
            "How much memory copies of sessions and guilds and rendered listings may take together.";
    }
    /// The team.
    team: Team {
        categories: Vec<Name> = empty_list("[\"Leads\", \"Support\"]"),
            "Categories of the team in the order shown; others follow by name.";
    }
    /// The bot.
    bot: Bot {
        silent_after: Span = value("\"90s\""),
            "A cluster that reports nothing for this long no longer counts.";
        alert_url: Option<SecretUrl> = without("none", "\"https://chat.example/hooks/1\""),
            "A webhook that is told when the bot is silent or has missed shards for `bot.silent_after`, and when it is well again.";
    }
    /// Limits per client and in total.
    limits: Limits {
        refused_codes_per_minute: NonZeroU32 = value("30"),
            "How many refused sign-in codes an address may send in a minute.";
        body: ByteSize = value("\"64 KiB\""),
            "The largest request body. A roster and a heartbeat may be as large as they can get, a sync of any size.";
        connections: NonZeroU32 = value("20000"),
            "How many connections the public API holds at once.";
        connections_per_address: NonZeroU32 = value("4000"),
            "How many of them one address may have.";
    }
    /// The log.
    log: Log {
        format: Option<LogFormat> = without("human on a terminal, otherwise json", "\"human\""),
            "`human` or `json`.";
        level: LevelFilter = value("\"info\""),
            "`error`, `warn`, `info`, `debug` or `trace`.";
        access: bool = value("false"),
            "Whether every request is logged.";
    }
}

/// A configuration key.
#[derive(Debug)]
pub struct Key {
    /// The table that contains it.
    pub table: &'static str,
    /// Its name in the table.
    pub name: &'static str,
    /// Table and name, joined by a dot.
    pub path: &'static str,
    /// Its default.
    pub default: Fallback,
    /// Whether its value must never be shown.
    pub secret: bool,
    /// Its purpose, in one line.
    pub about: &'static str,
    /// The JSON Schema of its values.
    pub schema: fn() -> serde_json::Value,
}

/// The default of a key, and an example.
#[derive(Debug)]
pub struct Fallback {
    /// The default in TOML syntax, or `Err` with the effect of having no value.
    pub value: Result<&'static str, &'static str>,
    /// An example value in TOML syntax. `None` if a random key is made: operators would copy an example.
    pub example: Option<&'static str>,
}

const fn value(value: &'static str) -> Fallback {
    Fallback { value: Ok(value), example: Some(value) }
}

const fn without(words: &'static str, example: &'static str) -> Fallback {
    Fallback { value: Err(words), example: Some(example) }
}

const fn empty_list(example: &'static str) -> Fallback {
    Fallback { value: Ok("[]"), example: Some(example) }
}

const fn empty_table(example: &'static str) -> Fallback {
    Fallback { value: Ok("{}"), example: Some(example) }
}

const MADE: Fallback = Fallback { value: Err("one is made"), example: None };

/// The instruction that replaces an example key.
const KEY_INSTRUCTION: &str = "\"the output of: openssl rand -base64 32\"";

/// Prefix of all our variables.
pub(super) const PREFIX: &str = "COMPANION_";
/// Separator of path segments in the name of a variable.
pub(super) const SEPARATOR: &str = "__";
/// Suffix of variables that name a file with a secret.
pub(super) const FILE_SUFFIX: &str = "_FILE";

impl Key {
    /// Returns the key with this path.
    #[must_use]
    pub fn named(path: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.path == path)
    }

    /// Returns the environment variable that sets it.
    #[must_use]
    pub fn variable(&self) -> String {
        variable(self.path)
    }

    /// Returns the environment variable that names a file with its value. `None` unless the key is secret.
    #[must_use]
    pub fn file_variable(&self) -> Option<String> {
        self.secret.then(|| self.variable() + FILE_SUFFIX)
    }

    /// Converts the text of an environment variable or a secret file. The schema decides whether it is text, a number or
    /// boolean, or inline TOML or JSON.
    pub(super) fn value_of(&self, word: &str) -> toml::Value {
        let value = match (self.schema)().get("type").and_then(serde_json::Value::as_str) {
            Some("string") => None,
            Some("boolean" | "integer") => word.parse().ok(),
            // No single key, URL or size starts with a bracket.
            _ if !word.trim_start().starts_with(['[', '{']) => None,
            _ => word.parse().ok().or_else(|| serde_json::from_str(word).ok()),
        };
        value.unwrap_or_else(|| word.into())
    }

    /// Returns an example value in TOML syntax, or how to make one.
    #[must_use]
    pub fn example(&self) -> &'static str {
        self.default.example.unwrap_or(KEY_INSTRUCTION)
    }

    /// Returns a value that would be accepted.
    fn acceptable(&self) -> Cow<'static, str> {
        self.default.example.map_or_else(
            || {
                let mut bytes = [0; 32];
                SystemEntropy.fill(&mut bytes);
                format!("\"{}\"", STANDARD.encode(bytes)).into()
            },
            Cow::from,
        )
    }

    /// Returns how to correct the value at its source: like the example in TOML syntax, or a value that would be accepted.
    pub(super) fn advice(&self, source: &Source, example: Option<&str>) -> String {
        let example = example.map_or_else(|| self.acceptable(), Cow::from);
        match source {
            Source::SecretFile(_, path) => format!("put the value alone into {}", path.display()),
            Source::Variable(_) => {
                let bare = example.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                let value = in_shell(bare.unwrap_or(&example));
                format!("write it like {}={value}", self.variable())
            }
            Source::Default | Source::File(_) | Source::Line(..) | Source::Together => {
                format!("write it like {} = {example} in [{}]", self.name, self.table)
            }
        }
    }
}

/// Returns the environment variable that sets the key with this path.
pub(crate) fn variable(path: &str) -> String {
    format!("{PREFIX}{}", path.to_ascii_uppercase().replace('.', SEPARATOR))
}

/// Quotes a value for a shell.
fn in_shell(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+=".contains(c);
    if value.chars().all(plain) { value.to_owned() } else { format!("'{value}'") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::{Effective, tests::Given};

    /// The table in `docs/configuration.md` has the defaults themselves.
    #[test]
    fn uses_defaults_without_any_layer() {
        for Effective { key, value, source } in Given::nothing().loaded().effective {
            let default = key.default.value.map_or_else(|words| format!("({words})"), str::to_owned);
            assert_eq!((value, source), (default, Source::Default), "{}", key.path);
        }
    }

    /// Returns the TOML value in a suggested fix.
    fn advised(fix: &str) -> &str {
        let (_, value) = fix.split_once(" = ").unwrap();
        value.rsplit_once(" in [").unwrap().0
    }

    #[test]
    fn suggests_a_value_that_would_be_accepted() {
        for key in KEYS {
            let wrong = Given::file(&format!("[{}]\n{} = 1970-01-01", key.table, key.name)).error();
            let value = advised(&wrong.fix);
            assert_ne!(value, "[]", "{wrong}");
            let right = Given::file(&format!("[{}]\n{} = {value}", key.table, key.name));
            assert_eq!(right.errors(), [], "{wrong}");

            let (variable, empty) = (key.variable(), "\u{7f} ");
            let wrong = Given::nothing().with(&variable, empty).error();
            let (_, value) = wrong.fix.split_once('=').unwrap();
            let right = Given::nothing().with(&variable, value.trim_matches('\''));
            assert_eq!(right.errors(), [], "{wrong}");
        }
    }

    #[test]
    fn never_suggests_the_same_key_twice() {
        let advice = || Given::nothing().with("COMPANION_SECRETS__KEY", "short").error().fix;
        assert_ne!(advice(), advice());
    }
}
