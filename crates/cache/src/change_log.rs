//! Recent invalidations, against which a load in flight is checked before it is inserted.

use crate::key::{Invalidation, Key};
use companion_domain::change::Kind;
use std::collections::VecDeque;

/// Number of invalidations kept. A load during which more than that arrive is not inserted.
const CAPACITY: usize = 8192;

/// The last invalidations, numbered.
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

    /// Records that this key is invalidated.
    pub(crate) fn record(&mut self, key: Key) {
        self.push(Invalidation::Key(key));
    }

    /// Records that everything of this kind is invalidated.
    pub(crate) fn record_kind(&mut self, kind: Kind) {
        self.push(Invalidation::Every(kind));
    }

    fn push(&mut self, entry: Invalidation) {
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
    use companion_domain::model::{GuildId, UserId};

    fn user(number: u64) -> Key {
        Key::User(UserId::new(number).unwrap())
    }

    #[test]
    fn matches_only_later_invalidations_of_these_keys() {
        let mut log = ChangeLog::default();
        log.record(user(1));
        let begun = log.position();
        let is_invalidated = |log: &ChangeLog| {
            log.has_invalidated_since(begun, |key| *key == user(1), |kind| kind == Kind::Guild)
        };
        assert!(!is_invalidated(&log), "recorded before");
        log.record(user(2));
        log.record(Key::Guild(GuildId::new(1).unwrap()));
        log.record_kind(Kind::Session);
        assert!(!is_invalidated(&log), "other keys");
        let mut named = ChangeLog { invalidations: log.invalidations.clone(), next: log.next };
        named.record(user(1));
        assert!(is_invalidated(&named));
        log.record_kind(Kind::Guild);
        assert!(is_invalidated(&log));
    }

    #[test]
    fn treats_positions_before_the_log_as_invalidated() {
        let mut log = ChangeLog::default();
        for _ in 0..CAPACITY {
            log.record(user(2));
        }
        assert!(!log.has_invalidated_since(0, |key| *key == user(1), |_| false));
        log.record(user(2));
        assert!(log.has_invalidated_since(0, |key| *key == user(1), |_| false));
    }
}
