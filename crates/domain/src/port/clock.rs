//! The time.

use crate::model::Timestamp;

/// Tells the time. The service has one real clock; tests hold theirs in the hand.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;
}
