//! Whether the store is fit to serve.

use super::StoreError;
use async_trait::async_trait;

/// Asks a store how it is.
#[async_trait]
pub trait Health: Send + Sync {
    /// Returns when the store can answer and write, and its schema is complete; the error says what is wrong. It
    /// really asks: an answer from memory would be worth nothing.
    async fn check(&self) -> Result<(), StoreError>;
}
