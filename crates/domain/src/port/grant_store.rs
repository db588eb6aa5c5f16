//! What the platform granted us to do in a user's name.

use super::{Sealed, StoreError};
use crate::model::{GuildList, Timestamp, UserId};
use async_trait::async_trait;
use std::num::NonZeroU32;

/// Counts how often a user's grant has been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GrantVersion(pub u64);

/// What a grant holds. The tokens are sealed; a store could not read them if it wanted to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GrantContent {
    /// The sealed tokens, where they are kept.
    pub tokens: Option<Sealed>,
    /// The last list of the user's guilds, where one has come.
    pub list: Option<GuildList>,
}

/// A user's grant as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Which writing of it this is.
    pub version: GrantVersion,
    /// What it holds.
    pub content: GrantContent,
}

/// What became of an attempt to claim a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// The caller has it.
    Granted,
    /// Someone has it already, until this date by their clock.
    Held(Timestamp),
    /// The grant has another version by now, or is gone.
    Gone,
}

/// What becomes of the claim to a refresh when its holder writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimAfter {
    /// It goes on: the refresh is not finished.
    Kept,
    /// It ends.
    Released,
}

/// Keeps one grant per user.
#[async_trait]
pub trait GrantStore: Send + Sync {
    /// Writes a user's grant, whatever was there: the newest sign-in wins. A claim on the old one ends. The version
    /// is higher than every earlier one of that user's current grant; by how much is left open, and so is where versions
    /// begin again once a grant was removed.
    async fn replace(&self, user: UserId, content: &GrantContent) -> Result<GrantVersion, StoreError>;

    /// A user's grant. One that cannot be read is corrupt; where it is only the list and there are tokens, it has none.
    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError>;

    /// Claims the right to refresh this version of the grant. One caller has it: a claim stands until it is released,
    /// or until someone who knows that its holder is dead names it by its end, and so takes it over. The end, `until`,
    /// is a date of the caller's clock; a store keeps it and compares it with no other clock.
    async fn claim_refresh(
        &self,
        user: UserId,
        version: GrantVersion,
        until: Timestamp,
        dead: Option<Timestamp>,
    ) -> Result<Claimed, StoreError>;

    /// Ends the claim on this version without writing. Does nothing where there is none.
    async fn release_claim(&self, user: UserId, version: GrantVersion) -> Result<(), StoreError>;

    /// Writes this version of the grant anew. A claim that is kept has the same end on the new version. A grant that has
    /// another version by now, or is gone, is a conflict and stays as it is.
    async fn update(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
        claim: ClaimAfter,
    ) -> Result<GrantVersion, StoreError>;

    /// Removes this version of the grant. False where it has another version by now, or is gone.
    async fn remove(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError>;

    /// Removes this version of the grant unless the user has a session. False where there is one, or the grant has
    /// another version by now, or is gone.
    async fn remove_unused(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError>;

    /// Users who have a grant, at most `limit` of them, in an order of the store's own, which does not change while others
    /// come and go. Those after `after` in that order, so that the last one of a page leads to the next, whether or not
    /// that user still has a grant. Fewer than `limit` is the end. Grants that cannot be read are among them.
    async fn holders(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError>;

    /// The same for those who have a grant and no session.
    async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError>;
}
