//! Sessions and grants: three ports of one store.

use super::{Sealed, StoreError};
use crate::{
    model::{GuildList, Timestamp, UserId},
    session::{Cutoffs, Session, TokenHash, Uses},
};
use async_trait::async_trait;
use std::num::NonZeroU32;

/// Keeps sessions. It knows nothing of tokens, only of their hashes.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Adds a session, and in the same step takes away whatever exceeds `cap` for its user, as
    /// [`exceeding`](crate::session::exceeding) says. Returns those taken away, in any order. A session whose id exists
    /// already is a conflict.
    ///
    /// The new session is never among them, whatever its date: room is made before it comes. Those that are over stay
    /// while there is room. Sessions that cannot be read take up none.
    async fn create(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
    ) -> Result<Vec<Session>, StoreError>;

    /// The session with this id, over or not. One that cannot be read is corrupt, and lets nobody in.
    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError>;

    /// What [`find`](Self::find) would give now, where an earlier `find` has brought it into memory. Nothing says nothing: it
    /// may exist all the same.
    fn cached(&self, _id: &TokenHash) -> Option<Session> {
        None
    }

    /// Moves `last_seen_at` of each session that still exists forward to the given time, never back: a clock that is
    /// wrong for a while must not make a session look unused once it is right again.
    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError>;

    /// All sessions of a user, over or not, the oldest first. Of those that were made in the same microsecond any may come
    /// first.
    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError>;

    /// How many sessions there are, over or not; whether those that cannot be read count is left open. Nothing from a store
    /// that cannot tell without looking at each of them.
    async fn count(&self) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    /// Ends a session. Returns it, or nothing where there is none or it cannot be read; it is gone all the same.
    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError>;

    /// Ends a session if `ended` says that it is over. Returns it, or nothing where there is none, or it lives.
    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError>;

    /// Ends all sessions of a user, also those that cannot be read. Returns the others, in the order of
    /// [`of_user`](Self::of_user).
    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError>;

    /// Removes sessions that `ended` says are over, at most `limit` of them, and returns them in any order. Which of them
    /// come first when there are more is left open.
    ///
    /// Sessions that are over and cannot be read are removed as well, but neither returned nor counted towards `limit`.
    /// They may be gone even if the call fails or is cancelled. So fewer than `limit` means that no session is left that is
    /// over, readable or not.
    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError>;

    /// Sets each `created_at` and `last_seen_at` that lies beyond the [horizon](Timestamp::horizon) of `now` to `now`, of
    /// at most `limit` sessions, and returns how many it changed: fewer than `limit` where there are no others. Which come
    /// first is left open. Without that, a session from before a clock was set back would live until the clock has caught
    /// up with it.
    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError>;
}

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

/// Begins and ends sessions together with the grant that they live on.
///
/// A session without a grant opens nothing, so whoever crashes must not leave one behind. The other way round is fine: a
/// grant without sessions waits to be given back to the platform. So ending a session needs nothing of this port.
#[async_trait]
pub trait SignIns: Send + Sync {
    /// Adds a session as [`SessionStore::create`](super::SessionStore::create) does and writes its user's grant as [`GrantStore::replace`](super::GrantStore::replace) does, in one
    /// step: both or neither, and nobody sees one without the other. Returns the sessions that were taken away, in any
    /// order. A session whose id exists already is a conflict.
    async fn begin(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
        grant: &GrantContent,
    ) -> Result<Vec<Session>, StoreError>;

    /// Removes this version of a user's grant, and with it all sessions of the user, in one step. Returns them, the oldest
    /// first; nothing where the grant has another version by now, or is gone: then nothing is removed.
    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError>;

    /// Ends all sessions of a user who has no grant, in one step. Returns them, the oldest first; nothing where there is
    /// a grant: then nothing is removed.
    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError>;
}
