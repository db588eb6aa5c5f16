//! Sessions.

use super::StoreError;
use crate::{
    model::{Timestamp, UserId},
    session::{Cutoffs, Session, TokenHash},
};
use async_trait::async_trait;
use std::num::NonZeroU32;

/// Keeps sessions. It knows nothing of tokens, only of their hashes.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Adds a session, and in the same step takes away whatever exceeds `cap` for its user: first those that `ended`
    /// says are over, then the oldest by creation. Returns those taken away. A session whose id exists already is a
    /// conflict.
    async fn create(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
    ) -> Result<Vec<Session>, StoreError>;

    /// The session with this id, over or not.
    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError>;

    /// Moves `last_seen_at` of each session that still exists forward to the given time, never back.
    async fn touch(&self, seen: &[(TokenHash, Timestamp)]) -> Result<(), StoreError>;

    /// All sessions of a user, over or not, the oldest first.
    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError>;

    /// Ends a session. Returns it, or nothing where there is none.
    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError>;

    /// Ends all sessions of a user. Returns them, the oldest first.
    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError>;

    /// Removes sessions that `ended` says are over, at most `limit` of them, and returns them.
    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError>;
}
