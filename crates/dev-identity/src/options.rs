//! What the server is started with.

use crate::{
    platform::{Account, Client},
    sample,
};
use std::{collections::HashMap, time::Duration};

/// How often one token may ask on one route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// So many requests …
    pub requests: u32,
    /// … in each stretch of this length.
    pub per: Duration,
}

/// What the server is started with. The default has a sample client and sample users.
#[derive(Debug, Clone)]
pub struct Options {
    /// The applications that may exchange codes.
    pub clients: Vec<Client>,
    /// Who can be chosen on the sign-in page.
    pub users: Vec<Account>,
    /// What there is to see as each user, by id, for the page on which one is picked.
    pub descriptions: HashMap<u64, String>,
    /// What a person can do with a code, for those whom no site waits for: a command with `{code}` in it. The page
    /// `/callback` shows it with the code filled in.
    pub command: Option<String>,
    /// How long a code can be exchanged.
    pub code_lifetime: Duration,
    /// How long an access token works.
    pub access_lifetime: Duration,
    /// The limit of the user and guild routes, per token; none where there is none.
    pub rate_limit: Option<RateLimit>,
    /// How long every answer of the API takes at least.
    pub latency: Duration,
    /// Whether the server's clock moves only when it is moved forward.
    pub clock_stands_still: bool,
    /// Threads that serve.
    pub workers: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clients: vec![sample::client()],
            users: sample::users(),
            descriptions: HashMap::new(),
            command: None,
            code_lifetime: Duration::from_secs(100),
            access_lifetime: Duration::from_secs(7 * 24 * 60 * 60),
            rate_limit: Some(RateLimit { requests: 50, per: Duration::from_secs(1) }),
            latency: Duration::ZERO,
            clock_stands_still: false,
            workers: 2,
        }
    }
}
