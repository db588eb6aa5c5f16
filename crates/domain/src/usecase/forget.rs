//! Forgetting a user.

use super::{GiveBack, token_box};
use crate::{
    change::Tally,
    model::UserId,
    port::{GrantStore, Records, SessionStore, StoreError, StoreErrorKind, Vault},
    session::Session,
};
use std::sync::Arc;

/// What was forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    /// How much of it there was.
    pub tally: Tally,
    /// The sessions that ended with it, as of the moment before.
    pub sessions: Vec<Session>,
}

/// Forgets users.
pub struct ForgetUser {
    /// Sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Grants.
    pub grants: Arc<dyn GrantStore>,
    /// Opens the tokens.
    pub vault: Arc<dyn Vault>,
    /// Gives the platform its grant back, of which nothing stays stored.
    pub give_back: Arc<GiveBack>,
    /// Removes everything at once.
    pub records: Arc<dyn Records>,
}

impl ForgetUser {
    /// Removes what is stored of a user, but for a block. Repeating it is harmless.
    pub async fn forget(&self, user: UserId) -> Result<Forgotten, StoreError> {
        let sessions = self.sessions.of_user(user).await?;
        let grant = match self.grants.find(user).await {
            // What cannot be read cannot be given back, and is forgotten all the same.
            Err(error) if error.kind == StoreErrorKind::Corrupt => None,
            found => found?,
        };
        let tally = self.records.forget(user).await?.tally;
        let sealed = grant.and_then(|grant| grant.content.tokens);
        if let Some(Ok((tokens, _))) = sealed.map(|sealed| token_box::open(&*self.vault, user, &sealed)) {
            self.give_back.start_unstored(user, tokens);
        }
        Ok(Forgotten { tally, sessions })
    }
}
