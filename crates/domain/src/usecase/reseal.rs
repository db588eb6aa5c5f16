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
                *self.reseal_one(*user, &mut sum).await? += 1;
            }
            progress(&sum);
            after = users.last().copied();
            if users.len() < PAGE_SIZE.get() as usize {
                return Ok(sum);
            }
        }
    }

    /// Seals one grant again, under the claim of a refresh, since both write the tokens. Returns the count of its outcome.
    async fn reseal_one<'a>(&self, user: UserId, sum: &'a mut Resealed) -> Result<&'a mut u64, StoreError> {
        let grant = match self.grants.find(user).await {
            Ok(Some(grant)) => grant,
            Ok(None) => return Ok(&mut sum.untouched),
            Err(error) if error.kind == StoreErrorKind::Corrupt => return Ok(&mut sum.corrupt),
            Err(error) => return Err(error),
        };
        let Some(sealed) = &grant.content.tokens else { return Ok(&mut sum.untouched) };
        let Ok((tokens, reseal)) = token_box::open(&*self.vault, user, sealed) else {
            return Ok(&mut sum.corrupt);
        };
        if !reseal {
            return Ok(&mut sum.untouched);
        }
        if self.claims.claim(user, grant.version).await? != Claimed::Granted {
            return Ok(&mut sum.busy);
        }
        let tokens = Some(token_box::seal(&*self.vault, user, &tokens));
        let content = GrantContent { tokens, ..grant.content };
        match self.grants.update(user, grant.version, &content, ClaimAfter::Released).await {
            Ok(_) => Ok(&mut sum.resealed),
            // A new sign-in was faster, and sealed with the newest key.
            Err(error) if error.kind == StoreErrorKind::Conflict => Ok(&mut sum.untouched),
            Err(error) => Err(error),
        }
    }
}
