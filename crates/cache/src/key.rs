//! Keys of cache entries, and what a change invalidates.

use companion_domain::{
    change::{Kind, Subject},
    model::{GuildId, UserId},
    session::TokenHash,
};

/// Something that entries depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// A session.
    Session(TokenHash),
    /// The user's part of a listing: block, guild list, roles in guilds, own subscription, staff grants.
    User(UserId),
    /// A guild, whether it has the bot, and which subscriptions name it.
    Guild(GuildId),
    /// The guilds that a user's subscription names.
    Subscriber(UserId),
}

/// What a change invalidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Invalidation {
    /// A single key.
    Key(Key),
    /// Everything of a kind.
    Every(Kind),
}

impl Invalidation {
    /// Returns what a change of `subject` invalidates. `None` if no entry depends on it.
    pub(crate) fn of(subject: &Subject) -> Option<Self> {
        Some(Self::Key(match *subject {
            Subject::Session(id) => Key::Session(id),
            Subject::Guild(guild) => Key::Guild(guild),
            Subject::Member(_, user)
            | Subject::Staff(user)
            | Subject::Blocked(user)
            | Subject::Grant(user) => Key::User(user),
            Subject::Subscription(user) => Key::Subscriber(user),
            ref other => {
                let kind = other.kind();
                return (kind.is_listed() || kind == Kind::Session).then_some(Self::Every(kind));
            }
        }))
    }
}
