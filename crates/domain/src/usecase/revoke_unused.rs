//! Revoking grants at the platform that no session uses any more.

use super::{claim::Claims, token_box};
use crate::{
    model::{PlatformTokens, UserId},
    port::{
        Claimed, Grant, GrantStore, IdentityError, IdentityProvider, Ports, Scheduler, SessionStore,
        StoreError, StoreErrorKind, Vault,
    },
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
    grants: Arc<dyn GrantStore>,
    sessions: Arc<dyn SessionStore>,
    identity: Arc<dyn IdentityProvider>,
    vault: Arc<dyn Vault>,
    scheduler: Arc<dyn Scheduler>,
    claims: Claims,
}

/// The position of a round over all unused grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// There may be more after this user.
    Reached(UserId),
    /// There are no more.
    Done,
}

enum Attempt {
    Settled,
    /// The platform failed, so calling it for the next grant at once is pointless.
    Failed,
}

impl RevokeUnusedGrants {
    /// Creates the use case over these ports.
    #[must_use]
    pub fn new(ports: &Ports) -> Self {
        let Ports { stores, identity, vault, clock, scheduler, .. } = ports.clone();
        let claims = Claims::new(Arc::clone(&stores.grants), clock);
        Self { grants: stores.grants, sessions: stores.sessions, identity, vault, scheduler, claims }
    }

    /// Starts revoking a user's grant if no session uses it. A failed attempt is repeated by a later
    /// [`round`](Self::round).
    pub fn start(self: &Arc<Self>, user: UserId) {
        let this = Arc::clone(self);
        self.scheduler.start(Box::pin(carried(async move {
            let _ = this.attempt(user).await;
        })));
    }

    /// Starts revoking tokens that are not stored, unless the user has another grant: revoking one token ends all of
    /// the user's.
    pub fn start_unstored(self: &Arc<Self>, user: UserId, tokens: PlatformTokens) {
        let this = Arc::clone(self);
        self.scheduler.start(Box::pin(carried(async move {
            for pause in RETRIES {
                let stored = this.grants.find(user).await;
                if matches!(stored, Ok(Some(_))) || (stored.is_ok() && this.revoke(&tokens).await.is_ok()) {
                    return;
                }
                this.scheduler.pause(pause).await;
            }
        })));
    }

    /// Attempts up to `limit` unused grants after the position that the last round reached. Stops if the platform
    /// fails; the next round continues after that position.
    pub async fn round(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Round, StoreError> {
        let users = self.grants.unused(after, limit).await?;
        let more = users.len() >= limit.get() as usize;
        for user in &users {
            match self.attempt(*user).await? {
                Attempt::Settled => {}
                Attempt::Failed => return Ok(Round::Reached(*user)),
            }
        }
        Ok(users.last().filter(|_| more).map_or(Round::Done, |last| Round::Reached(*last)))
    }

    async fn attempt(&self, user: UserId) -> Result<Attempt, StoreError> {
        let Grant { version, content } = match self.grants.find(user).await {
            Ok(Some(grant)) => grant,
            Ok(None) => return Ok(Attempt::Settled),
            // An unreadable grant has nothing to revoke, and must not block the others.
            Err(error) if error.kind == StoreErrorKind::Corrupt => return Ok(Attempt::Settled),
            Err(error) => return Err(error),
        };
        let in_use = !self.sessions.of_user(user).await?.is_empty();
        if in_use || self.claims.claim(user, version).await? != Claimed::Granted {
            return Ok(Attempt::Settled);
        }
        // Tokens that cannot be opened cannot be revoked, and are useless.
        let tokens = content.tokens.and_then(|sealed| token_box::open(&*self.vault, user, &sealed).ok());
        let revoked = match &tokens {
            Some((tokens, _)) => self.revoke(tokens).await,
            None => Ok(()),
        };
        if revoked.is_err() || !self.grants.remove_unused(user, version).await? {
            self.grants.release_claim(user, version).await?;
        }
        Ok(if revoked.is_ok() { Attempt::Settled } else { Attempt::Failed })
    }

    async fn revoke(&self, tokens: &PlatformTokens) -> Result<(), IdentityError> {
        self.identity.revoke(tokens.refresh.as_ref().unwrap_or(&tokens.access)).await
    }
}
