//! Permissions granted by name.

use crate::{storage::DieselStorage, table::staff};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{StaffGrants, UserId},
    port::{StaffDirectory, StoreError},
};

#[async_trait]
impl StaffDirectory for DieselStorage {
    async fn grants(&self, user: UserId) -> Result<Option<StaffGrants>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| Ok(staff::grants(db, user, &unreadable)?)).await
    }

    async fn put(&self, user: UserId, grants: StaffGrants) -> Result<Tally, StoreError> {
        self.write(move |write| staff::put(write, user, grants)).await
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        self.write(move |write| staff::remove(write, user)).await
    }
}
