//! State about the platform that all nodes share.

use super::StoreError;
use crate::model::{CodeFingerprint, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

/// Remembers used sign-in codes, so that each is exchanged once over all nodes.
#[async_trait]
pub trait SpentCodes: Send + Sync {
    /// Marks a code as used until `until`. Returns `true` for exactly one of any number of concurrent callers, the
    /// first. A rejected call changes nothing.
    ///
    /// A mark has expired when `now` reaches its end, and then counts as absent. So does a mark that ends after the
    /// [horizon](Timestamp::horizon) of `until`; at the horizon itself it counts. Every caller marks for the same
    /// length of time, so a mark that ends so late was made before a clock was set back.
    ///
    /// The store may drop marks that count as absent for the current caller. Marks last far longer than the platform
    /// accepts a code, so a caller whose clock is minutes ahead does no harm. There is no separate cleanup: a store
    /// that must not grow without bound drops some of them here.
    async fn spend(
        &self,
        code: &CodeFingerprint,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Removes the mark of a code that was not sent to the platform after all. A mark has no owner: the caller that
    /// made it calls this seconds later. Does nothing if there is no mark.
    async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError>;
}

/// A request of the platform to pause all calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlatformPause {
    /// When it was received, by the clock of the receiving node.
    pub said_at: Timestamp,
    /// How long to pause.
    pub wait: Duration,
}

impl PlatformPause {
    /// Returns the remaining time, or `None` if the pause is over. A pause so far ahead that the clock must have been
    /// set back since is over too.
    #[must_use]
    pub fn left(&self, now: Timestamp) -> Option<Duration> {
        self.wait.checked_sub(now.age_of(self.said_at)).filter(|left| !left.is_zero())
    }
}

/// Remembers the platform's pause over all nodes, so that other nodes need not find out by calling it.
#[async_trait]
pub trait PlatformPauses: Send + Sync {
    /// Remembers a pause that begins now. Of this one and the stored one, the one with more time remaining is kept.
    async fn note(&self, pause: PlatformPause) -> Result<(), StoreError>;

    /// Returns the stored pause, over or not.
    async fn current(&self) -> Result<Option<PlatformPause>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_ends_in_time_or_when_the_clock_is_set_back() {
        let second = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let pause = PlatformPause { said_at: second(1000), wait: Duration::from_secs(10) };
        for (now, left) in
            [(1000, Some(10)), (1004, Some(6)), (1010, None), (5000, None), (900, Some(10)), (699, None)]
        {
            assert_eq!(pause.left(second(now)), left.map(Duration::from_secs), "{now}");
        }
    }
}
