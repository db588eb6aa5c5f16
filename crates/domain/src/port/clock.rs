//! The time.

use crate::model::Timestamp;
use std::time::Duration;

/// Tells the time, in two ways. The service has one real clock; tests hold theirs in the hand.
///
/// What is stored, or comes from elsewhere, has a date, and is read by the rule of
/// [`Timestamp::age_of`]. What happens within one process is measured by [`monotonic`](Self::monotonic).
pub trait Clock: Send + Sync {
    /// The date now. It can be wrong, and can be set, back as well as forth.
    fn now(&self) -> Timestamp;

    /// How long it is since some moment that is the same for as long as the process runs. It never goes back, and nobody
    /// sets it.
    fn monotonic(&self) -> Duration;
}
