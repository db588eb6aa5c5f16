//! What copies are kept by.

use companion_domain::{
    change::{Kind, Subject},
    model::{GuildId, UserId},
    session::TokenHash,
};

/// Something that copies depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// A session.
    Session(TokenHash),
    /// What a listing says of its user: the block, the list, roles in guilds, the own subscription, grants by name.
    User(UserId),
    /// A guild, whether it has the bot, and who makes it premium.
    Guild(GuildId),
    /// Which guilds a user makes premium.
    Subscriber(UserId),
}

impl Key {
    /// Whose subscription it is about.
    pub(crate) const fn subscriber(&self) -> Option<UserId> {
        match self {
            Self::Subscriber(user) => Some(*user),
            Self::Session(_) | Self::User(_) | Self::Guild(_) => None,
        }
    }
}

/// What a change makes doubtful.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Invalidation {
    /// One thing.
    Key(Key),
    /// Everything of a kind.
    Every(Kind),
}

impl Invalidation {
    /// What has to be looked at again after this change. `None` if no copy depends on it.
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
