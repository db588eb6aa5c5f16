//! Parses the address of a database, and redacts it for display.

use companion_domain::{model::Secret, port::Cause};
use percent_encoding::percent_decode_str;
use std::fmt;

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Replaces a message that repeats the address.
pub(super) const INVALID_ADDRESS: &str = "the address of the database is invalid";
/// Replaces a message that contains the password, even if only because the password is a common word.
const WITHHELD: &str = "the message is not shown because it contains the password";

/// Connection options added unless the address sets them. An unreachable or unresponsive server is noticed within
/// seconds. Of several servers the primary is chosen, because standbys lag behind.
const NETWORK: [(&str, &str); 7] = [
    ("connect_timeout", "2"),
    ("keepalives_idle", "5"),
    ("keepalives_interval", "2"),
    ("keepalives_count", "3"),
    ("tcp_user_timeout", "5000"),
    ("application_name", "companion"),
    ("target_session_attrs", "primary"),
];

/// Connection options that libpq knows, separated by spaces. It rejects an address with any other option.
const OPTIONS: &str = "\
    application_name channel_binding client_encoding connect_timeout dbname fallback_application_name \
    gssdelegation gssencmode gsslib host hostaddr keepalives keepalives_count keepalives_idle \
    keepalives_interval krbsrvname load_balance_hosts max_protocol_version min_protocol_version \
    oauth_client_id oauth_client_secret oauth_issuer oauth_scope options passfile password port replication \
    require_auth requirepeer scram_client_key scram_server_key service ssl_max_protocol_version \
    ssl_min_protocol_version sslcert sslcertmode sslcompression sslcrl sslcrldir sslkey sslmode \
    sslnegotiation sslpassword sslrootcert sslsni target_session_attrs tcp_user_timeout user";

/// Why an address is invalid, as far as that can be checked offline. The message repeats no part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It cannot be parsed.
    #[error("is not valid; characters such as / ? # @ in a password are written as %2F %3F %23 %40")]
    Form,
    /// A port is invalid.
    #[error("has a port that is not a number from 1 to 65535")]
    Port,
    /// It contains an option that libpq does not know.
    #[error("has an option that PostgreSQL's client does not know")]
    Option,
    /// It requires TLS, and this build has none.
    #[error(
        "asks for TLS, which this build does not have: use a release, build with the feature `postgres-tls`, or set \
         sslmode=disable where the network is yours alone"
    )]
    Tls,
}

/// A parsed address. `Display` shows only the database and the server.
pub(crate) struct Address {
    understood: bool,
    /// Hosts and ports as written in the address.
    authority: String,
    /// Hosts and ports for display, including those given as options.
    hosts: String,
    database: String,
    options: Vec<(String, String)>,
    /// Encodings of the password, none of which may be shown.
    secrets: Vec<Secret>,
}

impl Address {
    /// Parses an address. If it is malformed, it shows too little rather than too much.
    pub(crate) fn of(url: &Secret) -> Self {
        let after_scheme = SCHEMES.iter().find_map(|scheme| url.expose().strip_prefix(scheme));
        let rest = after_scheme.unwrap_or_default();
        // The password ends at the last `@`, even if it contains unescaped special characters.
        let (login, location) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (location, options) = location.split_once('?').unwrap_or((location, ""));
        let (hosts, database) = location.split_once('/').unwrap_or((location, ""));
        let options: Vec<(String, String)> = options
            .split('&')
            .filter_map(|option| option.split_once('='))
            .map(|(name, value)| (name.to_owned(), decoded(value)))
            .collect();
        let option = |name: &str| options.iter().rfind(|option| option.0 == name).map(|option| &option.1);
        let secrets = [password.to_owned(), decoded(password)];
        let secrets = secrets.into_iter().chain(option("password").cloned());
        let host = option("host").cloned().unwrap_or_else(|| hosts.to_owned());
        let database = if database.is_empty() { user } else { database };
        Self {
            // libpq would take the rest of such a password for a host name, and print it.
            understood: after_scheme.is_some() && !login.contains(['/', '?', '#', '@', '[', ']', ' ']),
            authority: hosts.to_owned(),
            hosts: with_port(host, option("port")),
            database: option("dbname").cloned().unwrap_or_else(|| decoded(database)),
            secrets: secrets.filter(|secret| !secret.is_empty()).map(Secret::new).collect(),
            options,
        }
    }

    /// Returns why the address is invalid, or `None` if libpq parses it the same way.
    pub(crate) fn error(&self) -> Option<AddressError> {
        if !self.understood {
            Some(AddressError::Form)
        } else if !self.ports().all(is_port) {
            Some(AddressError::Port)
        } else if !self.options.iter().all(|(name, _)| OPTIONS.split(' ').any(|known| known == name)) {
            Some(AddressError::Option)
        } else if self.wants_tls() && !cfg!(feature = "postgres-tls") {
            Some(AddressError::Tls)
        } else {
            None
        }
    }

    /// Returns every port, whether it follows a host or is an option.
    fn ports(&self) -> impl Iterator<Item = &str> {
        let hosts = self.authority.split(',').map(|host| host.rsplit(']').next().unwrap_or_default());
        let behind_hosts = hosts.filter_map(|host| host.split_once(':').map(|(_, port)| port));
        let options = self.options.iter().filter(|(name, _)| name == "port");
        behind_hosts.chain(options.flat_map(|(_, ports)| ports.split(',')))
    }

    /// Returns whether the address requires TLS.
    fn wants_tls(&self) -> bool {
        self.options.iter().any(|(name, value)| match name.as_str() {
            "sslmode" => ["require", "verify-ca", "verify-full"].contains(&value.as_str()),
            "sslnegotiation" => value == "direct",
            "sslrootcert" => value == "system",
            _ => false,
        })
    }

    /// Returns the address with the default network options that it lacks.
    pub(crate) fn completed(&self, url: &Secret) -> Secret {
        let mut completed = url.expose().to_owned();
        for (name, value) in NETWORK {
            if !self.options.iter().any(|option| option.0 == name) {
                completed.push(if completed.contains('?') { '&' } else { '?' });
                completed.push_str(&format!("{name}={value}"));
            }
        }
        Secret::new(completed)
    }

    /// Returns a connection error without secrets.
    pub(crate) fn redacted(&self, cause: &dyn fmt::Display) -> Cause {
        let message = cause.to_string();
        // libpq repeats an address that it cannot parse.
        if message.contains("://") {
            return INVALID_ADDRESS.into();
        }
        if self.secrets.iter().any(|secret| message.contains(secret.expose())) {
            return WITHHELD.into();
        }
        on_one_line(&message).into()
    }
}

/// Joins the lines of a message, because libpq breaks and indents them.
pub(super) fn on_one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "database {} on {}", self.database, self.hosts)
    }
}

/// Appends the port to a single host that has none.
fn with_port(host: String, port: Option<&String>) -> String {
    match host.as_str() {
        "" => "the local socket".to_owned(),
        socket if socket.starts_with('/') || socket.starts_with('%') => host,
        several if several.contains(',') => host,
        one if one.rsplit(']').next().is_some_and(|end| end.contains(':')) => host,
        _ => format!("{host}:{}", port.map_or("5432", String::as_str)),
    }
}

/// An empty port means the default.
fn is_port(text: &str) -> bool {
    text.is_empty() || (!text.starts_with('+') && text.parse::<u16>().is_ok_and(|port| port > 0))
}

/// Decodes %-escapes. Malformed escapes are kept.
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(url: &str) -> String {
        Address::of(&Secret::new(url.to_owned())).to_string()
    }

    #[test]
    fn displays_the_database_and_the_server() {
        for (url, expected) in [
            ("postgres://me:canary@db.example:6432/bot", "database bot on db.example:6432"),
            ("postgresql://me@db.example/bot?sslmode=disable", "database bot on db.example:5432"),
            ("postgres://me:canary@db.example", "database me on db.example:5432"),
            ("postgres://me@[::1]:6432/bot", "database bot on [::1]:6432"),
            ("postgres://me@[::1]/bot", "database bot on [::1]:5432"),
            ("postgres://me@one:1,two:2/bot", "database bot on one:1,two:2"),
            ("postgres://me:canary@/my%20bot?host=/run/postgresql", "database my bot on /run/postgresql"),
            ("postgres:///bot", "database bot on the local socket"),
        ] {
            assert_eq!(shown(url), expected);
        }
    }

    #[test]
    fn never_displays_any_encoding_of_the_password() {
        for (url, understood) in [
            ("postgres://me:canary@db.example/bot", true),
            ("postgres://me:can%61ry@db.example/bot", true),
            ("postgres://me@db.example/bot?password=canary", true),
            ("postgres://me:no/canary?here@db.example/bot", false),
            ("postgres://me:no@canary@db.example/bot", false),
            ("host=db.example password=canary", false),
        ] {
            let address = Address::of(&Secret::new(url.to_owned()));
            assert_eq!(address.error() != Some(AddressError::Form), understood, "{url}");
            let redacted = [
                address.to_string(),
                address.redacted(&format!("invalid: \"{url}\"")).to_string(),
                address.redacted(&"cannot find canary").to_string(),
            ];
            // A malformed address is rejected before any message could contain it.
            let redacted = if understood { &redacted[..] } else { &redacted[..1] };
            assert!(!redacted.iter().any(|redacted| redacted.contains("canary")), "{redacted:?}");
        }
    }

    #[test]
    fn adds_default_network_options_to_the_address() {
        let url = Secret::new("postgres://me@db.example/bot?connect_timeout=9".to_owned());
        let completed = Address::of(&url).completed(&url);
        assert_eq!(completed.expose().matches("connect_timeout").count(), 1);
        assert!(completed.expose().contains("&keepalives_idle=5"));
        let url = Secret::new("postgres://me@db.example/bot".to_owned());
        assert!(Address::of(&url).completed(&url).expose().contains("?connect_timeout=2&"));
    }

    #[test]
    fn recognises_an_address_that_requires_tls() {
        let wants = |options: &str| {
            Address::of(&Secret::new(format!("postgres://me@db.example/bot?{options}"))).wants_tls()
        };
        assert!(wants("sslmode=require") && wants("a=b&sslmode=verify-full") && wants("sslrootcert=system"));
        assert!(!wants("sslmode=prefer") && !wants("sslmode=disable") && !wants(""));
    }

    #[test]
    fn rejects_offline_what_libpq_would_reject() {
        let error = |url: &str| Address::of(&Secret::new(url.to_owned())).error();
        for port in ["abc", "0", "65536", "-1", "+1", "1x", "99999999999"] {
            let location = |host: &str| error(&format!("postgres://me@{host}:{port}/bot"));
            assert_eq!(
                [location("db"), location("[::1]"), location("one:1,two")],
                [Some(AddressError::Port); 3],
                "{port}"
            );
            assert_eq!(error(&format!("postgres://me@db/bot?port={port}")), Some(AddressError::Port));
        }
        assert_eq!(error("postgres://me@db/bot?conect_timeout=1"), Some(AddressError::Option));
        assert_eq!(error("host=db"), Some(AddressError::Form));
        for fine in [
            "postgres://me@db/bot",
            "postgres://me@db:/bot",
            "postgres://me@[::1]:6432/bot?target_session_attrs=read-write",
            "postgres://me@one:1,two:2/bot?port=3,4",
            "postgres:///bot?host=/run/postgresql&application_name=a",
        ] {
            assert_eq!(error(fine), None, "{fine}");
        }
        let tls = error("postgres://me@db/bot?sslmode=require");
        assert_eq!(tls, Some(AddressError::Tls).filter(|_| !cfg!(feature = "postgres-tls")));
    }
}
