//! Options of the server, and the routes of its API.

use crate::platform::{Account, Client};
use serde::Deserialize;
use std::{collections::HashMap, time::Duration};

/// A route of the API, which is counted and can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// The exchange of codes and refresh tokens.
    Token,
    /// The revocation of tokens.
    Revoke,
    /// The user of a token.
    User,
    /// A page of the user's guilds.
    Guilds,
}

impl Route {
    /// All routes.
    pub const ALL: [Self; 4] = [Self::Token, Self::Revoke, Self::User, Self::Guilds];
}

/// A rate limit per token and route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Maximum number of requests per window.
    pub requests: u32,
    /// Length of a window.
    pub per: Duration,
}

/// Options of the server. The default has neither clients nor users.
#[derive(Debug, Clone)]
pub struct Options {
    /// The applications that may exchange codes.
    pub clients: Vec<Client>,
    /// The users on the sign-in page.
    pub users: Vec<Account>,
    /// What each user gets to see, by id, shown on the sign-in page.
    pub descriptions: HashMap<u64, String>,
    /// A shell command that uses a code, with the placeholder `{code}`. `/callback` shows it with the code filled in.
    pub command: Option<String>,
    /// Lifetime of a code.
    pub code_lifetime: Duration,
    /// Lifetime of an access token.
    pub access_lifetime: Duration,
    /// The rate limit of the user and guild routes, per token; `None` for no limit.
    pub rate_limit: Option<RateLimit>,
    /// Minimum latency of API responses.
    pub latency: Duration,
    /// Whether the clock advances only by [`Control::forward`](crate::Control::forward).
    pub clock_stands_still: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clients: Vec::new(),
            users: Vec::new(),
            descriptions: HashMap::new(),
            command: None,
            code_lifetime: Duration::from_secs(100),
            access_lifetime: Duration::from_secs(7 * 24 * 60 * 60),
            rate_limit: Some(RateLimit { requests: 50, per: Duration::from_secs(1) }),
            latency: Duration::ZERO,
            clock_stands_still: false,
        }
    }
}
