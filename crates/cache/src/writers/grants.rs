//! The `GrantStore` port with invalidation on write. Tokens of the platform are never cached.

use super::Invalidating;
use crate::key::Key;
use async_trait::async_trait;
use companion_domain::{
    model::{Profile, Timestamp, UserId},
    port::{ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion, StoreError},
};
use std::{
    collections::{BTreeSet, HashMap},
    num::NonZeroU32,
};

#[async_trait]
impl GrantStore for Invalidating<dyn GrantStore> {
    async fn replace(&self, user: UserId, content: &GrantContent) -> Result<GrantVersion, StoreError> {
        self.invalidating([Key::User(user)], self.inner.replace(user, content)).await
    }

    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError> {
        self.inner.find(user).await
    }

    async fn profiles(&self, users: &BTreeSet<UserId>) -> Result<HashMap<UserId, Profile>, StoreError> {
        self.inner.profiles(users).await
    }

    async fn claim_refresh(
        &self,
        user: UserId,
        version: GrantVersion,
        until: Timestamp,
        dead: Option<Timestamp>,
    ) -> Result<Claimed, StoreError> {
        self.inner.claim_refresh(user, version, until, dead).await
    }

    async fn release_claim(&self, user: UserId, version: GrantVersion) -> Result<(), StoreError> {
        self.inner.release_claim(user, version).await
    }

    async fn update(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
        claim: ClaimAfter,
    ) -> Result<GrantVersion, StoreError> {
        self.invalidating([Key::User(user)], self.inner.update(user, version, content, claim)).await
    }

    async fn remove(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        self.invalidating([Key::User(user)], self.inner.remove(user, version)).await
    }

    async fn remove_unused(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        self.invalidating([Key::User(user)], self.inner.remove_unused(user, version)).await
    }

    async fn holders(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        self.inner.holders(after, limit).await
    }

    async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        self.inner.unused(after, limit).await
    }
}
