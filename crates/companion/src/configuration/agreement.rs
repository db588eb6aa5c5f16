//! Checks that involve several keys, and checks of the management keys.

use super::{
    addresses::ListenAddress,
    appearance,
    error::{KeyError, Source},
    files,
    keys::{Configuration, Key, Management, variable},
    reader::Effective,
    secrets::{KeySource, ManagementKey, OneOrMore, ScopedKey},
    storage_url::StorageUrl,
};
use companion_identity_oauth2::Settings;
use companion_storage_diesel::PostgresOptions;

const PER_ADDRESS: &str = "limits.connections_per_address";

/// Returns contradictions between keys that matter to every command.
pub(super) fn check(configuration: &Configuration, effective: &[Effective]) -> Vec<KeyError> {
    let Configuration { http, management, dashboard, guilds, limits, storage, .. } = configuration;
    let mut errors: Vec<_> = malformed_url(&storage.url, effective).into_iter().collect();
    let mut listeners = vec![("http", &http.listen), ("management", &management.listen)];
    listeners.extend(dashboard.listen.as_ref().map(|listen| ("dashboard", listen)));
    for (place, (table, listen)) in listeners.iter().enumerate() {
        // Port 0 never collides.
        let mut before = listeners.iter().take(place).filter(|_| listen.port != 0);
        if let Some((other, _)) = before.find(|(_, other)| other == listen) {
            let port = listen.port.checked_add(1).unwrap_or(8081);
            let another = ListenAddress { port, host: listen.host.clone() };
            errors.push(KeyError::together(
                &format!("{table}.listen"),
                format!("is the same address as {other}.listen"),
                format!("give each listener a port of its own, like listen = \"{another}\" in [{table}]"),
            ));
        }
    }
    if guilds.refresh_after > guilds.stale_for {
        errors.push(KeyError::together(
            "guilds.stale_for",
            "is shorter than guilds.refresh_after, so a list would be refused before it is fetched again",
            format!("let it be longer, like stale_for = \"{}\" in [guilds]", guilds.refresh_after),
        ));
    }
    // A default follows limits.connections; see `lower_defaults`.
    let is_set =
        effective.iter().any(|known| known.key.path == PER_ADDRESS && known.source != Source::Default);
    if is_set && limits.connections_per_address > limits.connections {
        errors.push(KeyError::together(
            PER_ADDRESS,
            "is more than limits.connections allows in all",
            format!(
                "let it be at most that, like connections_per_address = {} in [limits]",
                limits.connections
            ),
        ));
    }
    errors
}

/// Returns an error if the PostgreSQL URL is malformed. Errors that only the server can detect appear on connecting.
fn malformed_url(url: &StorageUrl, effective: &[Effective]) -> Option<KeyError> {
    let StorageUrl::Postgres(url) = url else { return None };
    let error = PostgresOptions::new(url.clone()).address_error()?;
    let Effective { key, source, .. } = effective.iter().find(|known| known.key.path == "storage.url")?;
    let fix = key.advice(source, Some("\"postgres://companion:password@localhost:5432/companion\""));
    Some(KeyError::at(source.clone(), key.path, error.to_string(), fix))
}

/// Returns what `serve` needs in addition. Other commands need less.
pub(super) fn check_serving(configuration: &Configuration) -> Vec<KeyError> {
    let mut errors = incomplete_application(configuration);
    // Tokens and the client secret are sent there.
    errors.extend(Settings::check_address(&configuration.identity.api_url).err().map(|error| {
        let fix = "set COMPANION_IDENTITY__API_URL=https://discord.com/api/v10";
        KeyError::together("identity.api_url", error.to_string(), fix)
    }));
    errors.extend(files::find_error(&configuration.http));
    errors.extend(appearance::read_logo(&configuration.dashboard).err());
    if configuration.dashboard.listen.is_some() && configuration.dashboard.url.is_none() {
        errors.push(KeyError::together(
            "dashboard.url",
            "must be set together with dashboard.listen, as browsers and the platform have to find the dashboard",
            format!("set {}, like {0}=https://dashboard.example", variable("dashboard.url")),
        ));
    }
    let management = &configuration.management;
    errors.extend(management_key_errors(management));
    if let StorageUrl::Postgres(_) = configuration.storage.url {
        let keys = [
            ("secrets.key", configuration.secrets.key.is_none()),
            ("management.key", management.key.is_none() && management.keys.0.is_empty()),
        ];
        errors.extend(keys.into_iter().filter(|(_, missing)| *missing).map(|(key, _)| missing_key(key)));
    }
    errors
}

/// Returns settings that `serve` accepts but that are probably mistakes.
pub(super) fn warnings(configuration: &Configuration) -> Vec<KeyError> {
    let Configuration { dashboard, management, .. } = configuration;
    let mut warnings = Vec::new();
    if dashboard.url.is_some() && dashboard.listen.is_none() {
        let listen = variable("dashboard.listen");
        warnings.push(KeyError::together(
            "dashboard.listen",
            "is not set, so the dashboard is off, although dashboard.url is set",
            format!("set {listen}, like {listen}=127.0.0.1:8082, or remove dashboard.url"),
        ));
    }
    if !management.listen.is_loopback() {
        warnings.push(KeyError::together(
            "management.listen",
            format!(
                "is {}: other machines may reach the management API, which speaks plain HTTP",
                management.listen
            ),
            "listen on 127.0.0.1, or let only the bot and your own machines reach this port",
        ));
    }
    warnings
}

/// Lowers a default that exceeds a configured value.
pub(super) fn lower_defaults(configuration: &mut Configuration, effective: &mut [Effective]) {
    let limits = &mut configuration.limits;
    if limits.connections_per_address > limits.connections {
        limits.connections_per_address = limits.connections;
        for known in effective.iter_mut().filter(|known| known.key.path == PER_ADDRESS) {
            known.value = limits.connections.to_string();
        }
    }
}

/// Returns the error for a key that all nodes must share and that therefore cannot be generated.
pub(crate) fn missing_key(path: &str) -> KeyError {
    KeyError::together(
        path,
        "must be set where storage is PostgreSQL, as every node needs the same",
        format!("set {} on every node to the output of: openssl rand -base64 32", variable(path)),
    )
}

/// An application at the platform needs an id, a secret and a redirect URI; having none of them is valid too. With a
/// dashboard the public redirect URI is optional, because users can sign in there.
fn incomplete_application(configuration: &Configuration) -> Vec<KeyError> {
    let identity = &configuration.identity;
    let parts = [
        ("identity.client_id", identity.client_id.is_some()),
        ("identity.client_secret", identity.client_secret.is_some()),
        ("identity.redirect_uri", identity.redirect_uri.is_some()),
    ];
    if parts.iter().all(|(_, set)| !set) {
        return Vec::new();
    }
    let spared = |path: &str| path == "identity.redirect_uri" && configuration.dashboard.listen.is_some();
    let missing = parts.into_iter().filter(|(path, set)| !set && !spared(path));
    missing
        .map(|(path, _)| {
            let example = Key::named(path).map(Key::example).unwrap_or_default();
            KeyError::together(
                path,
                "must be set together with the other keys of the application",
                format!("set {}, like {}={example}", variable(path), variable(path)),
            )
        })
        .collect()
}

const NEW_KEY: &str = "give each its own, the output of: openssl rand -base64 32";

/// Returns the errors of the management keys, files included, as they are now.
fn management_key_errors(management: &Management) -> Vec<KeyError> {
    let all = management.key.iter().flat_map(OneOrMore::iter);
    let mut known: Vec<_> = all.map(|key| (key.0.clone(), "management.key".to_owned())).collect();
    let mut errors = Vec::new();
    for ScopedKey { name, source, .. } in &management.keys.0 {
        let entry = format!("entry \"{name}\"");
        let mut refuse =
            |problem: String, fix: &str| errors.push(KeyError::together("management.keys", problem, fix));
        match source.read() {
            Err(error) => {
                let fix = match source {
                    KeySource::File(path) => {
                        format!("write a key into it: openssl rand -base64 32 > {}", path.display())
                    }
                    KeySource::Written(_) => NEW_KEY.to_owned(),
                };
                refuse(format!("{entry} {error}"), &fix);
            }
            Ok(ManagementKey(key)) => match known.iter().find(|(other, _)| *other == key) {
                Some((_, other)) => refuse(format!("{entry} has the same key as {other}"), NEW_KEY),
                None => known.push((key, entry)),
            },
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::{load, load_for_serving, tests::Given};

    #[test]
    fn reports_contradicting_values() {
        for (text, key) in [
            ("http.listen = 'h:1'\nmanagement.listen = 'h:1'", "management.listen"),
            ("http.listen = 'h:1'\ndashboard.listen = 'h:1'", "dashboard.listen"),
            ("management.listen = 'h:1'\ndashboard.listen = 'h:1'", "dashboard.listen"),
            ("[guilds]\nrefresh_after = '2h'\nstale_for = '1h'", "guilds.stale_for"),
            ("[limits]\nconnections = 10\nconnections_per_address = 11", "limits.connections_per_address"),
            ("storage.url = 'postgres://db:port/companion'", "storage.url"),
            ("storage.url = 'postgres://db:70000/companion'", "storage.url"),
            ("storage.url = 'postgres://db/c?optoins=1'", "storage.url"),
        ] {
            assert_eq!(Given::file(text).error().key, key);
        }
        // Port 0 selects a different port for each listener.
        Given::file("http.listen = 'h:0'\nmanagement.listen = 'h:0'\ndashboard.listen = 'h:0'")
            .configuration();
    }

    #[test]
    fn lowers_a_default_limit_to_a_configured_one() {
        let given = Given::file("[limits]\nconnections = 1000");
        assert_eq!(given.configuration().limits.connections_per_address.get(), 1000);
        assert_eq!(given.effective("limits.connections_per_address"), (Source::Default, "1000".to_owned()));
    }

    #[test]
    fn reports_what_serve_lacks_before_creating_anything() {
        let postgres = ("STORAGE__URL", "postgres://db/companion");
        for (variables, expected) in [
            (&[("IDENTITY__CLIENT_ID", "1")][..], &["identity.client_secret", "identity.redirect_uri"][..]),
            (
                &[("IDENTITY__REDIRECT_URI", "https://a.example/callback")],
                &["identity.client_id", "identity.client_secret"],
            ),
            (&[("IDENTITY__API_URL", "http://platform.example/api")], &["identity.api_url"]),
            (&[postgres], &["secrets.key", "management.key"]),
            (
                &[postgres, ("IDENTITY__CLIENT_SECRET", "hunter2")],
                &["identity.client_id", "identity.redirect_uri", "secrets.key", "management.key"],
            ),
            (&[], &[]),
        ] {
            let given = Given::variables(variables);
            let errors = load_for_serving(&given.layers).err().map(|errors| errors.as_slice().to_vec());
            let keys: Vec<_> = errors.iter().flatten().map(|error| error.key.as_str()).collect();
            assert_eq!(keys, expected);
            assert!(load(&given.layers).is_ok(), "other commands do with less");
        }
    }

    #[test]
    fn omits_errors_that_follow_from_others() {
        let application =
            "[identity]\nclient_id = '1'\nredirect_uri = 'https://a.example/b'\nclient_secret = ";
        let keys = |given: Given| {
            let errors = load_for_serving(&given.layers).unwrap_err();
            errors.as_slice().iter().map(|error| error.key.clone()).collect::<Vec<_>>()
        };
        assert_eq!(keys(Given::file(&format!("{application}7"))), ["identity.client_secret"]);
        assert_eq!(keys(Given::file(&format!("{application}'a"))), ["the configuration file"]);
        let unreadable = Given::nothing()
            .with("COMPANION_IDENTITY__CLIENT_ID", "1")
            .with("COMPANION_IDENTITY__CLIENT_SECRET_FILE", "/there/is/no/such/file")
            .with("COMPANION_IDENTITY__REDIRECT_URI", "https://a.example/b");
        assert_eq!(keys(unreadable), ["identity.client_secret"]);
    }
}
