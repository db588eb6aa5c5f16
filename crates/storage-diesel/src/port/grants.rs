//! What the platform granted us to do in users' names.

use crate::{
    storage::DieselStorage,
    table::{grants, sessions},
};
use async_trait::async_trait;
use companion_domain::{
    model::{Timestamp, UserId},
    port::{ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion, StoreError},
};
use std::num::NonZeroU32;

#[async_trait]
impl GrantStore for DieselStorage {
    async fn replace(&self, user: UserId, content: &GrantContent) -> Result<GrantVersion, StoreError> {
        let content = content.clone();
        self.write_urgently(move |write| grants::replace(write, user, &content)).await
    }

    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| grants::find(db, user, &unreadable)).await
    }

    async fn claim_refresh(
        &self,
        user: UserId,
        version: GrantVersion,
        until: Timestamp,
        dead: Option<Timestamp>,
    ) -> Result<Claimed, StoreError> {
        self.write_urgently(move |write| Ok(grants::claim(write.db, user, version, until, dead)?)).await
    }

    async fn release_claim(&self, user: UserId, version: GrantVersion) -> Result<(), StoreError> {
        self.write_urgently(move |write| Ok(grants::release_claim(write.db, user, version)?)).await
    }

    async fn update(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
        claim: ClaimAfter,
    ) -> Result<GrantVersion, StoreError> {
        let content = content.clone();
        self.write_urgently(move |write| grants::update(write, user, version, &content, claim)).await
    }

    async fn remove(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        self.write_urgently(move |write| {
            let same = grants::has_version(write.db, user, version)?;
            if same {
                grants::remove(write, user)?;
            }
            Ok(same)
        })
        .await
    }

    async fn remove_unused(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        self.write_urgently(move |write| {
            let unused = grants::has_version(write.db, user, version)? && !sessions::has_any(write.db, user)?;
            if unused {
                grants::remove(write, user)?;
            }
            Ok(unused)
        })
        .await
    }

    async fn holders(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        self.read(move |db| Ok(grants::holders(db, after, limit)?)).await
    }

    async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        self.read(move |db| Ok(grants::unused(db, after, limit)?)).await
    }
}
