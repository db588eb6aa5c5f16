//! What can be asked, as far as counting and failing go.

use serde::{Deserialize, Serialize};

/// A route that is counted, and that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// The page on which a user is picked.
    Authorize,
    /// Codes and refresh tokens for tokens.
    Token,
    /// The end of an authorisation.
    Revoke,
    /// The user behind a token.
    User,
    /// A page of that user's guilds.
    Guilds,
    /// Avatars and icons.
    Picture,
}

impl Route {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Authorize, Self::Token, Self::Revoke, Self::User, Self::Guilds, Self::Picture];

    /// Whether it belongs to the API, whose clients must say who they are in `User-Agent`.
    pub(crate) const fn is_api(self) -> bool {
        match self {
            Self::Token | Self::Revoke | Self::User | Self::Guilds => true,
            Self::Authorize | Self::Picture => false,
        }
    }
}
