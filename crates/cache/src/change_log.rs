//! What copies were told lately, so that a load knows whether a change has is_invalidated it.

use crate::key::{Invalidation, Key};
use companion_domain::change::Kind;
use std::collections::VecDeque;

/// So many are remembered. A load that takes longer than that is not kept.
const CAPACITY: usize = 8192;

/// The keys of the last changes that copies were told of, numbered.
#[derive(Default)]
pub(crate) struct ChangeLog {
    invalidations: VecDeque<Invalidation>,
    /// The number of the next one.
    next: u64,
}

impl ChangeLog {
    /// How far it is.
    pub(crate) const fn position(&self) -> u64 {
        self.next
    }

    /// Notes that these may be different from now on.
    pub(crate) fn record(&mut self, key: Key) {
        self.push(Invalidation::Key(key));
    }

    /// Notes that anything of this kind may be.
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

    /// Whether something was told since `position` that concerns whoever loads these keys and kinds.
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
    fn only_what_was_told_since_and_concerns_the_load_overtakes_it() {
        let mut log = ChangeLog::default();
        log.record(user(1));
        let begun = log.position();
        let is_invalidated = |log: &ChangeLog| {
            log.has_invalidated_since(begun, |key| *key == user(1), |kind| kind == Kind::Guild)
        };
        assert!(!is_invalidated(&log), "it was told before");
        log.record(user(2));
        log.record(Key::Guild(GuildId::new(1).unwrap()));
        log.record_kind(Kind::Session);
        assert!(!is_invalidated(&log), "that concerns others");
        let mut named = ChangeLog { invalidations: log.invalidations.clone(), next: log.next };
        named.record(user(1));
        assert!(is_invalidated(&named));
        log.record_kind(Kind::Guild);
        assert!(is_invalidated(&log));
    }

    #[test]
    fn a_load_that_began_before_everything_that_is_remembered_is_overtaken() {
        let mut log = ChangeLog::default();
        for _ in 0..CAPACITY {
            log.record(user(2));
        }
        assert!(!log.has_invalidated_since(0, |key| *key == user(1), |_| false));
        log.record(user(2));
        assert!(log.has_invalidated_since(0, |key| *key == user(1), |_| false));
    }
}
