//! Routes of the API, for counting calls and planning faults.

use serde::Deserialize;

/// A route that is counted and can fail.
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
