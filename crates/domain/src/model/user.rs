//! People, as the identity provider knows them.

use super::{Name, UserId, WebUrl};

/// A user of the chat platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The platform's id.
    pub id: UserId,
    /// The unique name.
    pub username: Name,
    /// The name that others see.
    pub name: Name,
    /// A picture; the platform's default one where the user has none.
    pub avatar: WebUrl,
}
