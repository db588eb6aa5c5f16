//! Sealing all grants with the newest key, so that older keys can be removed.

use super::{claim::Claims, token_box};
use crate::{
    model::UserId,
    port::{ClaimAfter, Claimed, Clock, GrantContent, GrantStore, StoreError, StoreErrorKind, Vault},
};
use std::{num::NonZeroU32, sync::Arc};

/// Number of grants between two progress reports.
const PAGE_SIZE: NonZeroU32 = NonZeroU32::new(200).unwrap();

/// Seals grants again.
pub struct ResealGrants {
    grants: Arc<dyn GrantStore>,
    vault: Arc<dyn Vault>,
    claims: Claims,
}

/// Number of grants by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resealed {
    /// Sealed again, from an older key to the newest.
    pub resealed: u64,
    /// Already sealed with the newest key, or without tokens.
    pub untouched: u64,
    /// Claimed by a refresh at this moment, which may or may not seal them again.
    pub busy: u64,
    /// Unreadable: sealed for another user, with a key that is not configured, or altered.
    pub corrupt: u64,
}

impl Resealed {
    /// Returns the number of grants visited.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.resealed + self.untouched + self.busy + self.corrupt
    }
}

enum Outcome {
    Resealed,
    Untouched,
    Busy,
    Corrupt,
}

impl ResealGrants {
    /// Creates the use case. The vault opens with any key and seals with the newest.
    pub fn new(grants: Arc<dyn GrantStore>, vault: Arc<dyn Vault>, clock: Arc<dyn Clock>) -> Self {
        let claims = Claims::new(Arc::clone(&grants), clock);
        Self { grants, vault, claims }
    }

    /// Visits all grants once, and reports progress after each page. Sign-ins and refreshes continue meanwhile.
    pub async fn reseal(&self, mut progress: impl FnMut(&Resealed)) -> Result<Resealed, StoreError> {
        let mut sum = Resealed::default();
        let mut after = None;
        loop {
            let users = self.grants.holders(after, PAGE_SIZE).await?;
            for user in &users {
                let count = match self.reseal_one(*user).await? {
                    Outcome::Resealed => &mut sum.resealed,
                    Outcome::Untouched => &mut sum.untouched,
                    Outcome::Busy => &mut sum.busy,
                    Outcome::Corrupt => &mut sum.corrupt,
                };
                *count += 1;
            }
            progress(&sum);
            after = users.last().copied();
            if users.len() < PAGE_SIZE.get() as usize {
                return Ok(sum);
            }
        }
    }

    /// Seals one grant again, under the claim of a refresh, since both write the tokens.
    async fn reseal_one(&self, user: UserId) -> Result<Outcome, StoreError> {
        let grant = match self.grants.find(user).await {
            Ok(Some(grant)) => grant,
            Ok(None) => return Ok(Outcome::Untouched),
            Err(error) if error.kind == StoreErrorKind::Corrupt => return Ok(Outcome::Corrupt),
            Err(error) => return Err(error),
        };
        let Some(sealed) = &grant.content.tokens else {
            return Ok(Outcome::Untouched);
        };
        let Ok((tokens, reseal)) = token_box::open(&*self.vault, user, sealed) else {
            return Ok(Outcome::Corrupt);
        };
        if !reseal {
            return Ok(Outcome::Untouched);
        }
        match self.claims.claim(user, grant.version).await? {
            Claimed::Granted => {}
            Claimed::Held(_) | Claimed::Gone => return Ok(Outcome::Busy),
        }
        let tokens = Some(token_box::seal(&*self.vault, user, &tokens));
        let content = GrantContent { tokens, ..grant.content };
        match self.grants.update(user, grant.version, &content, ClaimAfter::Released).await {
            Ok(_) => Ok(Outcome::Resealed),
            // A new sign-in was faster, and sealed with the newest key.
            Err(error) if error.kind == StoreErrorKind::Conflict => Ok(Outcome::Untouched),
            Err(error) => Err(error),
        }
    }
}
