//! What the platform said to all nodes at once.

use super::StoreError;
use crate::model::Timestamp;
use async_trait::async_trait;
use std::time::Duration;

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
