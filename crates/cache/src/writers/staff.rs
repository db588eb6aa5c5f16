//! Permissions granted by name.

use super::Told;
use crate::key::Key;
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{StaffGrants, UserId},
    port::{StaffDirectory, StoreError},
};

#[async_trait]
impl StaffDirectory for Told<dyn StaffDirectory> {
    async fn grants(&self, user: UserId) -> Result<Option<StaffGrants>, StoreError> {
        self.inner.grants(user).await
    }

    async fn put(&self, user: UserId, grants: StaffGrants) -> Result<Tally, StoreError> {
        self.telling([Key::User(user)], self.inner.put(user, grants)).await
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        self.telling([Key::User(user)], self.inner.remove(user)).await
    }
}
