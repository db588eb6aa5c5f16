//! What the platform granted us to do in users' names.

use crate::{keyed::Table, state::MemoryStorage};
use async_trait::async_trait;
use companion_domain::{
    model::{Timestamp, UserId},
    port::{ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion, StoreError},
};
use std::num::NonZeroU32;

#[async_trait]
impl GrantStore for MemoryStorage {
    async fn replace(&self, user: UserId, content: &GrantContent) -> Result<GrantVersion, StoreError> {
        Ok(self.write(|state, journal| state.grants.replace(user, content, journal)))
    }

    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError> {
        Ok(self.read().grants.find(user))
    }

    async fn claim_refresh(
        &self,
        user: UserId,
        version: GrantVersion,
        until: Timestamp,
        dead: Option<Timestamp>,
    ) -> Result<Claimed, StoreError> {
        Ok(self.write(|state, _| state.grants.claim(user, version, until, dead)))
    }

    async fn release_claim(&self, user: UserId, version: GrantVersion) -> Result<(), StoreError> {
        self.write(|state, _| state.grants.release_claim(user, version));
        Ok(())
    }

    async fn update(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
        claim: ClaimAfter,
    ) -> Result<GrantVersion, StoreError> {
        let content = content.clone();
        self.write(|state, journal| state.grants.update(user, version, content, claim, journal))
    }

    async fn remove(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        Ok(self.write(|state, journal| {
            let same = state.grants.is_at(user, version);
            if same {
                Table::remove(&mut state.grants, &user, journal);
            }
            same
        }))
    }

    async fn remove_unused(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        Ok(self.write(|state, journal| {
            let unused = !state.sessions.has_any(user) && state.grants.is_at(user, version);
            if unused {
                Table::remove(&mut state.grants, &user, journal);
            }
            unused
        }))
    }

    async fn holders(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        Ok(self.read().grants.page(after, limit, |_| true))
    }

    async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        let state = self.read();
        Ok(state.grants.page(after, limit, |user| !state.sessions.has_any(user)))
    }
}
