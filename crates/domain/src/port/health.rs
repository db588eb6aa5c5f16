//! Whether the store is fit to serve.

use super::StoreError;
use async_trait::async_trait;

/// Asks a store how it is.
#[async_trait]
pub trait Health: Send + Sync {
    /// Returns when the store answers, its schema is complete, and the last write, if there was one, did not fail for good
    /// as it would on a full disk; the error says what is wrong. It really asks: an answer from memory would be worth
    /// nothing.
    ///
    /// It is a read. It records no change, and it waits for no writer: a store that is busy is fit. Only a store whose
    /// last write failed for good tries a small one, so that it is fit again as soon as the cause is gone, whether or not
    /// anyone else writes.
    async fn check(&self) -> Result<(), StoreError>;
}
