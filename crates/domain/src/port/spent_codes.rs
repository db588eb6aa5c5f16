//! Codes that have been used.

use super::StoreError;
use crate::model::{CodeFingerprint, Timestamp};
use async_trait::async_trait;

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
