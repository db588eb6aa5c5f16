//! Revoking grants at the platform that no session uses any more.

use super::{claim::Claims, token_box};
use crate::{
    model::{PlatformTokens, UserId},
    port::{Claimed, Grant, IdentityError, Ports, StoreError, StoreErrorKind},
    request::carried,
};
use std::{num::NonZeroU32, sync::Arc, time::Duration};

/// When to retry revoking tokens that are not stored.
const RETRIES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(10), Duration::from_secs(60)];

/// Revokes unused grants, always in the background.
///
/// A grant without sessions stays stored until the platform has revoked it. So nothing is lost if the process ends,
/// every node can continue, and a user who signs in again meanwhile simply replaces it.
pub struct RevokeUnusedGrants {
    ports: Ports,
    claims: Claims,
}

impl RevokeUnusedGrants {
    /// Creates the use case over these ports.
    #[must_use]
    pub fn new(ports: &Ports) -> Self {
        let claims = Claims::new(Arc::clone(&ports.stores.grants), Arc::clone(&ports.clock));
        Self { ports: ports.clone(), claims }
    }

    /// Starts revoking a user's grant if no session uses it. A failed attempt is repeated by a later
    /// [`round`](Self::round).
    pub fn start(self: &Arc<Self>, user: UserId) {
        let this = Arc::clone(self);
        self.ports.scheduler.start(Box::pin(carried(async move {
            let _ = this.attempt(user).await;
        })));
    }

    /// Starts revoking tokens that are not stored, unless the user has another grant: revoking one token ends all of
    /// the user's.
    pub fn start_unstored(self: &Arc<Self>, user: UserId, tokens: PlatformTokens) {
        let this = Arc::clone(self);
        self.ports.scheduler.start(Box::pin(carried(async move {
            for pause in RETRIES {
                let stored = this.ports.stores.grants.find(user).await;
                if matches!(stored, Ok(Some(_))) || (stored.is_ok() && this.revoke(&tokens).await.is_ok()) {
                    return;
                }
                this.ports.scheduler.pause(pause).await;
            }
        })));
    }

    /// Attempts up to `limit` unused grants after the user that the last round reached. Returns the user that this one
    /// reached, or `None` if there are no more. Stops if the platform fails, since calling it for the next grant at once
    /// is pointless; the next round continues after that user.
    pub async fn round(
        &self,
        after: Option<UserId>,
        limit: NonZeroU32,
    ) -> Result<Option<UserId>, StoreError> {
        let users = self.ports.stores.grants.unused(after, limit).await?;
        let more = users.len() >= limit.get() as usize;
        for user in &users {
            if !self.attempt(*user).await? {
                return Ok(Some(*user));
            }
        }
        Ok(users.last().filter(|_| more).copied())
    }

    /// Returns `false` if the platform failed.
    async fn attempt(&self, user: UserId) -> Result<bool, StoreError> {
        let Grant { version, content } = match self.ports.stores.grants.find(user).await {
            Ok(Some(grant)) => grant,
            Ok(None) => return Ok(true),
            // An unreadable grant has nothing to revoke, and must not block the others.
            Err(error) if error.kind == StoreErrorKind::Corrupt => return Ok(true),
            Err(error) => return Err(error),
        };
        let in_use = !self.ports.stores.sessions.of_user(user).await?.is_empty();
        if in_use || self.claims.claim(user, version).await? != Claimed::Granted {
            return Ok(true);
        }
        // Tokens that cannot be opened cannot be revoked, and are useless.
        let tokens =
            content.tokens.and_then(|sealed| token_box::open(&*self.ports.vault, user, &sealed).ok());
        let revoked = match &tokens {
            Some((tokens, _)) => self.revoke(tokens).await,
            None => Ok(()),
        };
        if revoked.is_err() || !self.ports.stores.grants.remove_unused(user, version).await? {
            self.ports.stores.grants.release_claim(user, version).await?;
        }
        Ok(revoked.is_ok())
    }

    async fn revoke(&self, tokens: &PlatformTokens) -> Result<(), IdentityError> {
        self.ports.identity.revoke(tokens.refresh.as_ref().unwrap_or(&tokens.access)).await
    }
}
