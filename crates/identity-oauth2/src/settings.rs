//! What the provider is built with, and which addresses it refuses.

use crate::{BreakerRules, BudgetRules};
use companion_domain::model::{PictureServer, Secret, WebUrl};
use std::time::Duration;
use url::{Host, Url};

/// The stretch of time in which the platform counts what it refused.
const TEN_MINUTES: Duration = Duration::from_secs(600);

/// What the provider is built with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the platform's API begins.
    pub api_url: WebUrl,
    /// Where its pictures are.
    pub pictures: PictureServer,
    /// Our id at the platform.
    pub client_id: String,
    /// Our secret at the platform; any characters.
    pub client_secret: Secret,
    /// How we introduce ourselves; the platform refuses those who do not.
    pub user_agent: String,
    /// How long things may take.
    pub deadlines: Deadlines,
    /// How much is allowed.
    pub limits: Limits,
}

impl Settings {
    /// Whether the platform can be asked at this address, which is also checked when a provider is built.
    ///
    /// # Errors
    /// Where it is neither HTTPS nor loopback, or more than a place where paths begin.
    pub fn check_address(api_url: &WebUrl) -> Result<(), SettingsError> {
        ApiBase::check(api_url).map(|_| ())
    }
}

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// To connect, name look-up and TLS included.
    pub connect: Duration,
    /// For one call of the port, from the first byte to the last, all pages included.
    pub call: Duration,
    /// To get a place in the bulkhead.
    pub place: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(1),
            call: Duration::from_secs(5),
            place: Duration::from_millis(250),
        }
    }
}

/// How much is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest answer, in bytes.
    pub answer_bytes: usize,
    /// Calls at the same time, per route, so that a route that hangs leaves room for the others.
    pub calls_at_once: usize,
    /// Guilds of one user, over all pages.
    pub guilds: usize,
    /// When a failing route is left alone.
    pub breaker: BreakerRules,
    /// Answers of 401, 403 and 429 about the token of one user. Then nothing is asked for that user.
    pub refused_per_user: BudgetRules,
    /// Such answers to calls in our own name. Then nothing is asked in our own name.
    pub refused: BudgetRules,
    /// Such answers in all. Then nothing is asked at all: the platform bans an address after 10,000 in ten minutes.
    pub refused_in_all: BudgetRules,
    /// Such answers to lists that were asked for before anyone knew whose they are. Then a sign-in asks for the user first.
    pub refused_early: BudgetRules,
    /// Codes that the platform refused. It answers them with 400, which it bans nobody for.
    pub bad_codes: BudgetRules,
    /// So many of them are kept for clients in good standing.
    pub kept_codes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            answer_bytes: 1 << 20,
            calls_at_once: 64,
            guilds: 10_000,
            breaker: BreakerRules {
                failures: 5,
                within: Duration::from_secs(60),
                first_pause: Duration::from_secs(2),
                longest_pause: Duration::from_secs(30),
            },
            refused_per_user: BudgetRules { count: 5, within: TEN_MINUTES },
            refused: BudgetRules { count: 500, within: TEN_MINUTES },
            refused_in_all: BudgetRules { count: 2000, within: TEN_MINUTES },
            refused_early: BudgetRules { count: 100, within: TEN_MINUTES },
            bad_codes: BudgetRules { count: 300, within: Duration::from_secs(60) },
            kept_codes: 100,
        }
    }
}

/// Why a provider cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Tokens and the secret would travel in the open.
    #[error("the platform's address must be https, or http on loopback")]
    Insecure,
    /// The address is more than a place where paths begin.
    #[error("the platform's address must have no query and no fragment")]
    NotABase,
    /// The platform refuses those who do not introduce themselves.
    #[error("the user agent must be printable ASCII, and not empty")]
    UserAgent,
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be built")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The checked base of the platform's API, without a slash at its end.
#[derive(Debug, Clone)]
pub(crate) struct ApiBase {
    pub(crate) url: String,
    pub(crate) https: bool,
}

impl ApiBase {
    pub(crate) fn check(api_url: &WebUrl) -> Result<Self, SettingsError> {
        let url = Url::parse(api_url.as_str()).map_err(|_| SettingsError::NotABase)?;
        let https = url.scheme() == "https";
        if !https && !is_loopback(&url) {
            return Err(SettingsError::Insecure);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(SettingsError::NotABase);
        }
        Ok(Self { url: url.as_str().trim_end_matches('/').to_owned(), https })
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<String, SettingsError> {
        ApiBase::check(&text.parse().unwrap()).map(|base| base.url)
    }

    #[test]
    fn https_is_taken_anywhere_and_http_on_loopback_only() {
        for (text, base) in [
            ("https://platform.example/api/v10", "https://platform.example/api/v10"),
            ("https://platform.example/", "https://platform.example"),
            ("http://127.0.0.1:8083/api/v10/", "http://127.0.0.1:8083/api/v10"),
            ("http://127.8.8.8/", "http://127.8.8.8"),
            ("http://[::1]:1/a", "http://[::1]:1/a"),
            ("http://LOCALHOST/a", "http://localhost/a"),
        ] {
            assert_eq!(check(text).unwrap(), base);
        }
        for text in [
            "http://platform.example/api",
            "http://10.0.0.1/",
            "http://127.0.0.1.example/",
            "http://localhost.example/",
            "http://[::2]/",
            "http://0.0.0.0/",
        ] {
            assert!(matches!(check(text), Err(SettingsError::Insecure)), "{text}");
        }
    }

    #[test]
    fn an_address_that_is_no_base_is_refused() {
        for text in ["https://platform.example/?query", "https://platform.example/#fragment"] {
            assert!(matches!(check(text), Err(SettingsError::NotABase)), "{text}");
        }
    }
}
