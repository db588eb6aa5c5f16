//! Codes that have been used.

use super::StoreError;
use crate::model::{CodeFingerprint, Timestamp};
use async_trait::async_trait;

/// Remembers which sign-in codes have been used, so that each is exchanged once over all nodes.
#[async_trait]
pub trait SpentCodes: Send + Sync {
    /// Marks a code as used until `until`. True for the one caller that was first; a mark that has run out by `now`
    /// counts as absent, and so does one that ends beyond the [horizon](Timestamp::horizon) of `until`: all marks are
    /// made for the same time, so a clock was set back since. Of any number of concurrent callers exactly one is first.
    /// The store may drop marks that count as absent.
    async fn spend(
        &self,
        code: &CodeFingerprint,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Takes the mark back, for a code that was never sent to the platform after all.
    async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError>;
}
