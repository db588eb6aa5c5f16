//! Permissions granted by name.

use super::StoreError;
use crate::{
    change::Tally,
    model::{StaffGrants, UserId},
};
use async_trait::async_trait;

/// Knows what users were granted by name.
#[async_trait]
pub trait StaffDirectory: Send + Sync {
    /// What the user was granted. Nothing where nobody ever granted the user anything, or it was all taken back; a user who
    /// was granted an empty set has that.
    async fn grants(&self, user: UserId) -> Result<Option<StaffGrants>, StoreError>;

    /// Grants a user exactly these.
    async fn put(&self, user: UserId, grants: StaffGrants) -> Result<Tally, StoreError>;

    /// Takes everything back from a user.
    async fn remove(&self, user: UserId) -> Result<Tally, StoreError>;
}
