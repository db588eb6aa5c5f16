//! Sessions and grants where they belong together.

use super::{GrantContent, GrantVersion, StoreError};
use crate::{
    model::UserId,
    session::{Cutoffs, Session},
};
use async_trait::async_trait;
use std::num::NonZeroU32;

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
