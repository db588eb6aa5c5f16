//! What all nodes have to know about the platform.

use super::StoreError;
use crate::model::{CodeFingerprint, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

/// Remembers which sign-in codes have been used, so that each is exchanged once over all nodes.
#[async_trait]
pub trait SpentCodes: Send + Sync {
    /// Marks a code as used until `until`. True for the one caller that was first: of any number of concurrent callers
    /// exactly one. A refused caller changes nothing.
    ///
    /// A mark has run out when `now` has reached its end, and then counts as absent. So does one that ends after the
    /// [horizon](Timestamp::horizon) of `until`; at the horizon itself it counts. Every caller marks for the same length of
    /// time, so whoever made a mark that ends so late had a clock that was set back since.
    ///
    /// The store may drop marks that count as absent for whoever is calling. They last far longer than the platform knows
    /// a code, so a caller whose clock is ahead by minutes does no harm. Nobody calls the store to tidy up: one that
    /// should not grow for ever drops some of them here.
    async fn spend(
        &self,
        code: &CodeFingerprint,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Takes the mark back, for a code that was never sent to the platform after all. A mark has no owner: whoever was
    /// first calls this, seconds later. Where there is no mark there is nothing to do.
    async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError>;
}

/// The platform asked everyone to wait, whatever they ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlatformPause {
    /// When it said so, by the clock of whoever heard it.
    pub said_at: Timestamp,
    /// For how long.
    pub wait: Duration,
}

impl PlatformPause {
    /// How much of it is left; nothing where it is over. One that was said so far ahead that the clock must have been set
    /// back since is over, too.
    #[must_use]
    pub fn left(&self, now: Timestamp) -> Option<Duration> {
        self.wait.checked_sub(now.age_of(self.said_at)).filter(|left| !left.is_zero())
    }
}

/// Remembers the pause that the platform asked for, over all nodes, so that what one was told the others need not find out by
/// asking.
#[async_trait]
pub trait PlatformPauses: Send + Sync {
    /// Remembers a pause that begins now, which is when it was said. Of this one and the one that is remembered, the one of
    /// which more is left now stays.
    async fn note(&self, pause: PlatformPause) -> Result<(), StoreError>;

    /// The pause that is remembered, over or not.
    async fn current(&self) -> Result<Option<PlatformPause>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_left_until_it_is_over_and_a_clock_that_was_set_back_ends_it() {
        let second = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let pause = PlatformPause { said_at: second(1000), wait: Duration::from_secs(10) };
        for (now, left) in
            [(1000, Some(10)), (1004, Some(6)), (1010, None), (5000, None), (900, Some(10)), (699, None)]
        {
            assert_eq!(pause.left(second(now)), left.map(Duration::from_secs), "{now}");
        }
    }
}
