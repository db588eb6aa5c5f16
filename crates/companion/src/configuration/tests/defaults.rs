//! The defaults, key by key.

use super::Given;
use crate::configuration::{Fallback, KEYS, Source};

/// Every key with its default as `config show` has it.
const DEFAULTS: &[(&str, &str)] = &[
    ("http.listen", "\"127.0.0.1:8080\""),
    ("http.allowed_origins", "[]"),
    ("http.trusted_proxies", "[]"),
    ("http.sign_out", "false"),
    ("http.workers", "(one for each processor core)"),
    ("http.tls_certificate", "(none: plain HTTP)"),
    ("http.tls_key", "(none: plain HTTP)"),
    ("management.listen", "\"127.0.0.1:8081\""),
    ("management.key", "(one is made)"),
    ("management.keys", "{}"),
    ("dashboard.listen", "(none: it is off)"),
    ("dashboard.url", "(none)"),
    ("dashboard.name", "\"Companion\""),
    ("dashboard.invite_url", "(none)"),
    ("dashboard.support_url", "(none)"),
    ("storage.url", "\"sqlite:companion.db\""),
    ("identity.provider", "\"discord\""),
    ("identity.client_id", "(none)"),
    ("identity.client_secret", "(none)"),
    ("identity.redirect_uri", "(none)"),
    ("identity.keep_tokens", "true"),
    ("identity.api_url", "\"https://discord.com/api/v10\""),
    ("identity.authorize_url", "\"https://discord.com/oauth2/authorize\""),
    ("identity.cdn_url", "\"https://cdn.discordapp.com\""),
    ("secrets.key", "(one is made)"),
    ("sessions.lifetime", "\"30d\""),
    ("sessions.idle", "\"7d\""),
    ("sessions.per_user", "10"),
    ("guilds.refresh_after", "\"60s\""),
    ("guilds.stale_for", "\"24h\""),
    ("cache.memory", "\"256 MiB\""),
    ("team.categories", "[]"),
    ("bot.silent_after", "\"90s\""),
    ("limits.refused_codes_per_minute", "30"),
    ("limits.body", "\"64 KiB\""),
    ("limits.connections", "20000"),
    ("limits.connections_per_address", "4000"),
    ("log.format", "(human on a terminal, otherwise json)"),
    ("log.level", "\"info\""),
    ("log.access", "false"),
];

#[test]
fn without_any_layer_every_key_has_its_default() {
    let effective = Given::nothing().loaded().effective;
    let shown: Vec<_> = effective.iter().map(|key| (key.key.path, key.value.as_str())).collect();
    assert_eq!(shown, DEFAULTS);
    assert!(effective.iter().all(|key| key.source == Source::Default));
}

#[test]
fn the_defaults_mean_what_they_say() {
    let configuration = Given::nothing().configuration();
    assert_eq!(configuration.limits.body.bytes(), 65_536);
    assert_eq!(configuration.sessions.lifetime.get().as_secs(), 30 * 24 * 60 * 60);
    assert_eq!(configuration.guilds.refresh_after.get().as_secs(), 60);
    assert_eq!(configuration.http.listen.port, 8080);
    assert!(configuration.secrets.key.is_none() && configuration.management.key.is_none());
}

#[test]
fn every_default_can_be_written_down_and_comes_back() {
    for key in KEYS {
        let Fallback::Value(value) = key.default else {
            continue;
        };
        let given = Given::file(&format!("[{}]\n{} = {value}", key.table, key.name));
        let (source, shown) = given.effective(key.path);
        // A minute is shown as a minute, whatever it was called.
        let expected = if value == "\"60s\"" { "\"1m\"" } else { value };
        let expected = if value == "\"24h\"" { "\"1d\"" } else { expected };
        assert_eq!(shown, expected, "{}", key.path);
        assert!(matches!(source, Source::Line(_, 2)), "{source}");
    }
}
