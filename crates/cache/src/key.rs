//! Keys of cache entries, what a change invalidates, and the recent invalidations.

use companion_domain::{
    change::{Kind, Subject},
    model::{GuildId, UserId},
    session::TokenHash,
};
use std::collections::VecDeque;

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

/// Number of invalidations kept. A load during which more than that arrive is not inserted.
const CAPACITY: usize = 8192;

/// The last invalidations, numbered. A load in flight is checked against them before it is inserted.
#[derive(Default)]
pub(crate) struct ChangeLog {
    invalidations: VecDeque<Invalidation>,
    /// The number of the next invalidation.
    next: u64,
}

impl ChangeLog {
    /// Returns the number of the next invalidation.
    pub(crate) const fn position(&self) -> u64 {
        self.next
    }

    pub(crate) fn record(&mut self, entry: Invalidation) {
        if self.invalidations.len() == CAPACITY {
            self.invalidations.pop_front();
        }
        self.invalidations.push_back(entry);
        self.next += 1;
    }

    /// Returns whether an invalidation since `position` matches these keys or kinds, or is no longer in the log.
    pub(crate) fn has_invalidated_since(
        &self,
        position: u64,
        concerns: impl Fn(&Key) -> bool,
        kinds: impl Fn(Kind) -> bool,
    ) -> bool {
        let since = usize::try_from(self.next.saturating_sub(position)).unwrap_or(usize::MAX);
        if since > self.invalidations.len() {
            return true;
        }
        self.invalidations.iter().rev().take(since).any(|entry| match entry {
            Invalidation::Key(key) => concerns(key),
            Invalidation::Every(kind) => kinds(*kind),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_testkit::world::user_id;

    #[test]
    fn treats_positions_before_the_log_as_invalidated() {
        let mut log = ChangeLog::default();
        let other = Invalidation::Key(Key::User(user_id(2)));
        for _ in 0..CAPACITY {
            log.record(other);
        }
        assert!(!log.has_invalidated_since(0, |_| false, |_| false));
        log.record(other);
        assert!(log.has_invalidated_since(0, |_| false, |_| false));
    }
}
