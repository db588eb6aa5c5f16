//! Sessions.

use super::StoreError;
use crate::{
    model::{Timestamp, UserId},
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
    fn at_hand(&self, _id: &TokenHash) -> Option<Session> {
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
