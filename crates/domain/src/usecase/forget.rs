//! Forgetting a user.

use super::{Following, ManageSessions};
use crate::{
    change::Tally,
    model::UserId,
    port::{StoreError, WorldStore},
};
use std::sync::Arc;

/// Forgets users.
pub struct ForgetUser {
    /// Ends the user's sessions first, so that the platform gets its grant back.
    pub sessions: Arc<ManageSessions>,
    /// Removes everything else at once.
    pub world: Arc<dyn WorldStore>,
    /// Whoever keeps copies.
    pub following: Arc<Following>,
}

impl ForgetUser {
    /// Removes what is stored of a user, but for a block. Repeating it is harmless.
    pub async fn forget(&self, user: UserId) -> Result<Tally, StoreError> {
        let ended = self.sessions.revoke_user(user).await?;
        let mut tally = self.world.forget(user).await?;
        tally.removed += ended.len() as u64;
        self.following.catch_up().await?;
        Ok(tally)
    }
}
