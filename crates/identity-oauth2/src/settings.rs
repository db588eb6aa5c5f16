//! Settings of the provider, and the addresses it rejects.

use crate::{BreakerRules, BudgetRules};
use companion_domain::model::{PictureServer, Secret, WebUrl};
use std::time::Duration;
use url::{Host, Url};

/// The window in which the platform counts refusals.
const TEN_MINUTES: Duration = Duration::from_secs(600);

/// Settings of the provider.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Base URL of the platform's API.
    pub api_url: WebUrl,
    /// Server of the platform's pictures.
    pub pictures: PictureServer,
    /// Client id at the platform.
    pub client_id: String,
    /// Client secret at the platform. It may contain any characters.
    pub client_secret: Secret,
    /// User agent. The platform rejects requests without one.
    pub user_agent: String,
    /// Timeouts.
    pub deadlines: Deadlines,
    /// Limits.
    pub limits: Limits,
}

impl Settings {
    /// Checks whether the platform may be called at this address. Building a provider checks it as well.
    ///
    /// # Errors
    /// Returns an error if the address is neither HTTPS nor loopback, or has a query or fragment.
    pub fn check_address(api_url: &WebUrl) -> Result<(), SettingsError> {
        ApiBase::check(api_url).map(|_| ())
    }
}

/// Timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// To connect, including name lookup and TLS.
    pub connect: Duration,
    /// For one call of the port, from the first byte to the last, including all pages.
    pub call: Duration,
    /// To get a slot in the bulkhead.
    pub slot: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(1),
            call: Duration::from_secs(5),
            slot: Duration::from_millis(250),
        }
    }
}

/// Limits on calls, responses and refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of a response, in bytes.
    pub max_response_bytes: usize,
    /// Maximum number of concurrent calls per route, so that a hung route leaves room for the others.
    pub max_concurrent_calls: usize,
    /// Maximum number of guilds of one user, over all pages.
    pub guilds: usize,
    /// When the circuit breaker of a route opens.
    pub breaker: BreakerRules,
    /// Responses of 401, 403 and 429 about the token of one user. Beyond it, no call is made for that user.
    pub refused_per_user: BudgetRules,
    /// Such responses to calls without a user. Beyond it, no such call is made.
    pub refused: BudgetRules,
    /// Such responses in total. Beyond it, no call is made: the platform bans an address after 10,000 in ten minutes.
    pub refused_total: BudgetRules,
    /// Such responses to lists requested before their user was known. Beyond it, a sign-in requests the user first.
    pub refused_early: BudgetRules,
    /// Codes that the platform refused. It responds with 400, which does not count towards a ban.
    pub bad_codes: BudgetRules,
    /// Share of them that is reserved for clients in good standing.
    pub reserved_codes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_response_bytes: 1 << 20,
            max_concurrent_calls: 64,
            guilds: 10_000,
            breaker: BreakerRules {
                failures: 5,
                within: Duration::from_secs(60),
                first_pause: Duration::from_secs(2),
                longest_pause: Duration::from_secs(30),
            },
            refused_per_user: BudgetRules { count: 5, within: TEN_MINUTES },
            refused: BudgetRules { count: 500, within: TEN_MINUTES },
            refused_total: BudgetRules { count: 2000, within: TEN_MINUTES },
            refused_early: BudgetRules { count: 100, within: TEN_MINUTES },
            bad_codes: BudgetRules { count: 300, within: Duration::from_secs(60) },
            reserved_codes: 100,
        }
    }
}

/// Why a provider cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Tokens and the secret would be sent unencrypted.
    #[error("the platform's address must be https, or http on loopback")]
    Insecure,
    /// The address has a query or a fragment.
    #[error("the platform's address must have no query and no fragment")]
    NotABase,
    /// The user agent is empty or not printable ASCII.
    #[error("the user agent must be printable ASCII, and not empty")]
    UserAgent,
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be built")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The validated base URL of the platform's API, without a trailing slash.
#[derive(Debug, Clone)]
pub(crate) struct ApiBase {
    pub(crate) url: String,
    pub(crate) is_https: bool,
}

impl ApiBase {
    pub(crate) fn check(api_url: &WebUrl) -> Result<Self, SettingsError> {
        let url = Url::parse(api_url.as_str()).map_err(|_| SettingsError::NotABase)?;
        let is_https = url.scheme() == "https";
        if !is_https && !is_loopback(&url) {
            return Err(SettingsError::Insecure);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(SettingsError::NotABase);
        }
        Ok(Self { url: url.as_str().trim_end_matches('/').to_owned(), is_https })
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
    fn accepts_https_anywhere_and_http_on_loopback_only() {
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
    fn rejects_a_base_url_with_query_or_fragment() {
        for text in ["https://platform.example/?query", "https://platform.example/#fragment"] {
            assert!(matches!(check(text), Err(SettingsError::NotABase)), "{text}");
        }
    }
}
