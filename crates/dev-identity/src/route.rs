//! Routes, for counting calls and planning faults.

use serde::Deserialize;

/// A route that is counted and can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// The page on which a user is picked.
    Authorize,
    /// The exchange of codes and refresh tokens.
    Token,
    /// The revocation of tokens.
    Revoke,
    /// The user of a token.
    User,
    /// A page of the user's guilds.
    Guilds,
    /// Avatars and icons.
    Picture,
}

impl Route {
    /// All routes.
    pub const ALL: [Self; 6] =
        [Self::Authorize, Self::Token, Self::Revoke, Self::User, Self::Guilds, Self::Picture];

    /// Whether it belongs to the API, whose clients must send a `User-Agent`.
    pub(crate) const fn is_api(self) -> bool {
        match self {
            Self::Token | Self::Revoke | Self::User | Self::Guilds => true,
            Self::Authorize | Self::Picture => false,
        }
    }
}
