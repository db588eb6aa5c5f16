//! Sessions and grants: three ports of one store.

use super::{Sealed, StoreError};
use crate::{
    model::{GuildList, Profile, Timestamp, UserId},
    session::{Cutoffs, Session, TokenHash, Uses},
};
use async_trait::async_trait;
use std::{
    collections::{BTreeSet, HashMap},
    num::NonZeroU32,
};

/// Stores sessions, which [`SignIns`] begins. It never sees tokens, only their hashes.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Returns the session with this id, ended or not. An unreadable one is corrupt, and does not authenticate.
    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError>;

    /// Returns what [`find`](Self::find) would return, if it is cached. `None` means not cached, not absent.
    fn cached(&self, _id: &TokenHash) -> Option<Session> {
        None
    }

    /// Moves `last_seen_at` of each existing session forward to the given time, never back: a clock that is wrong for
    /// a while must not make a session look unused later.
    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError>;

    /// Returns all sessions of a user, ended or not, oldest first. The order of sessions created in the same
    /// microsecond is unspecified.
    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError>;

    /// Returns the number of sessions, ended or not. Whether unreadable ones count is unspecified. `None` from a
    /// store that would have to scan them.
    async fn count(&self) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    /// Ends a session and returns it. `None` if it does not exist or is unreadable; an unreadable one is removed too.
    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError>;

    /// Ends a session that is over according to `ended`, and returns it. `None` if it does not exist or is still valid.
    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError>;

    /// Ends all sessions of a user, including unreadable ones. Returns the readable ones, in the order of
    /// [`of_user`](Self::of_user).
    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError>;

    /// Removes up to `limit` sessions that are over according to `ended`, and returns them in any order. Which of
    /// them go first is unspecified.
    ///
    /// Unreadable sessions that are over are removed too, but neither returned nor counted towards `limit`. They may
    /// be removed even if the call fails or is cancelled. Fewer than `limit` means that no session is left that is
    /// over, readable or not.
    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError>;

    /// Sets each `created_at` and `last_seen_at` beyond the [horizon](Timestamp::horizon) of `now` to `now`, in up to
    /// `limit` sessions. Returns how many it changed; fewer than `limit` means that there are no others. Which go
    /// first is unspecified. Without this, a session from before a clock was set back would live until the clock has
    /// caught up with it.
    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError>;
}

/// Version of a user's grant, increased by each write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GrantVersion(pub u64);

/// The content of a grant. The tokens are sealed, so the store cannot read them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GrantContent {
    /// The sealed tokens, if they are stored.
    pub tokens: Option<Sealed>,
    /// The last list of the user's guilds, if any.
    pub list: Option<GuildList>,
    /// The user's name and picture at the sign-in. Absent in grants of older versions.
    pub profile: Option<Profile>,
}

/// A user's grant as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The version of this content.
    pub version: GrantVersion,
    /// The content.
    pub content: GrantContent,
}

/// The outcome of an attempt to claim a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// The caller holds the claim.
    Granted,
    /// Another caller holds the claim, until this date by its clock.
    Held(Timestamp),
    /// The grant has another version by now, or is gone.
    Gone,
}

/// What happens to the claim when its holder writes the grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimAfter {
    /// It stays: the refresh is not finished.
    Kept,
    /// It is released.
    Released,
}

/// Stores one grant per user, which a sign-in writes: [`SignIns::begin`].
#[async_trait]
pub trait GrantStore: Send + Sync {
    /// Returns a user's grant. An unreadable one is corrupt. If only the list is unreadable and there are tokens, it
    /// has no list.
    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError>;

    /// Returns the name and picture of those of these users who have a grant with it.
    async fn profiles(&self, users: &BTreeSet<UserId>) -> Result<HashMap<UserId, Profile>, StoreError> {
        let mut profiles = HashMap::new();
        for user in users {
            let grant = self.find(*user).await?;
            profiles.extend(grant.and_then(|grant| grant.content.profile).map(|profile| (*user, profile)));
        }
        Ok(profiles)
    }

    /// Claims the refresh of this version of the grant, for one caller at a time. A claim lasts until it is released.
    /// A caller that knows its holder to be dead takes it over by passing the claim's end as `dead`. The end,
    /// `until`, is a date of the caller's clock; the store keeps it and compares it with no other clock.
    async fn claim_refresh(
        &self,
        user: UserId,
        version: GrantVersion,
        until: Timestamp,
        dead: Option<Timestamp>,
    ) -> Result<Claimed, StoreError>;

    /// Releases the claim on this version without writing. Does nothing if there is none.
    async fn release_claim(&self, user: UserId, version: GrantVersion) -> Result<(), StoreError>;

    /// Writes a new version of the grant. A kept claim has the same end on the new version. If the grant has another
    /// version by now, or is gone, this is a conflict and changes nothing.
    async fn update(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
        claim: ClaimAfter,
    ) -> Result<GrantVersion, StoreError>;

    /// Removes this version of the grant unless the user has a session. Returns `false` if there is a session, or if
    /// the grant has another version by now or is gone.
    async fn remove_unused(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError>;

    /// Returns up to `limit` users with a grant, in an order that the store chooses and that does not change while
    /// others come and go. Only users after `after` in that order, whether or not that user still has a grant. Fewer
    /// than `limit` is the end. Unreadable grants are included.
    async fn holders(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError>;

    /// Like [`holders`](Self::holders), but only users with a grant and without a session.
    async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError>;
}

/// Begins and ends sessions together with the grant they depend on.
///
/// A session without a grant is useless, so a crash must not leave one behind. A grant without sessions is harmless:
/// it is revoked at the platform later. So ending a session does not need this port.
#[async_trait]
pub trait SignIns: Send + Sync {
    /// Adds a session and writes its user's grant, in one step: both or neither, and never visible one without the
    /// other. In the same step evicts what exceeds `cap` for the user, as decided by
    /// [`exceeding`](crate::session::exceeding). Returns the evicted sessions, in any order. An existing id is a
    /// conflict.
    ///
    /// The new session is never evicted, whatever its date: room is made before it is added. Ended sessions stay
    /// while there is room. Unreadable sessions take no room.
    ///
    /// The grant is written unconditionally: the latest sign-in wins. A claim on the old one ends. The new version is
    /// higher than every earlier one of the user's current grant. By how much is unspecified, and so is where versions
    /// start after a grant was removed.
    async fn begin(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
        grant: &GrantContent,
    ) -> Result<Vec<Session>, StoreError>;

    /// Removes this version of a user's grant and all sessions of the user, in one step. Returns the sessions, oldest
    /// first. Returns `None`, and removes nothing, if the grant has another version by now or is gone.
    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError>;

    /// Ends all sessions of a user without a grant, in one step. Returns the sessions, oldest first. Returns `None`,
    /// and removes nothing, if there is a grant.
    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError>;
}
