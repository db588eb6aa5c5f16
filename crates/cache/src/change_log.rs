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
