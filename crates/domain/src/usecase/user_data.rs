//! What is stored about a user: showing it and forgetting it.

use super::{RevokeUnusedGrants, token_box};
use crate::{
    change::Tally,
    model::{Feedback, GuildList, Member, StaffPermissions, Subscription, UserId},
    port::{GrantStore, Record, Records, SessionStore, StoreError, StoreErrorKind, Vault},
    session::Session,
};
use std::sync::Arc;

/// Shows what is stored about a user.
pub struct ShowUser {
    /// Has everything of a user at once.
    pub records: Arc<dyn Records>,
}

/// Everything that is stored about a user, and that forgetting them would remove.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredUser {
    /// Their sessions, the oldest first.
    pub sessions: Vec<Session>,
    /// What the platform granted in their name.
    pub grant: Option<StoredGrant>,
    /// Their roles, by guild.
    pub members: Vec<Member>,
    /// Their subscription.
    pub subscription: Option<Subscription>,
    /// What they were granted by name.
    pub staff: Option<StaffPermissions>,
    /// What they said, by id.
    pub feedback: Vec<Feedback>,
}

/// What the platform granted, without the tokens: those are not for showing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredGrant {
    /// Whether tokens are kept, sealed.
    pub tokens: bool,
    /// The platform's last list.
    pub list: Option<GuildList>,
}

impl ShowUser {
    /// Everything that is stored about a user; nothing where there is nothing.
    pub async fn show(&self, user: UserId) -> Result<Option<StoredUser>, StoreError> {
        let records = self.records.about(user).await?;
        if records.is_empty() {
            return Ok(None);
        }
        let mut stored = StoredUser::default();
        for record in records {
            match record {
                Record::Session(session) => stored.sessions.push(session),
                Record::Grant(_, grant) => {
                    let tokens = grant.content.tokens.is_some();
                    stored.grant = Some(StoredGrant { tokens, list: grant.content.list });
                }
                Record::Member(member) => stored.members.push(member),
                Record::Subscription(subscription) => stored.subscription = Some(subscription),
                Record::Staff(_, grants) => stored.staff = Some(grants),
                Record::Feedback(feedback) => stored.feedback.push(feedback),
                // Not what the port tells of a user.
                _ => {}
            }
        }
        stored.sessions.sort_by_key(|session| (session.created_at, session.id));
        stored.members.sort_by_key(|member| member.guild);
        stored.feedback.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(Some(stored))
    }
}

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
    pub revoke_unused: Arc<RevokeUnusedGrants>,
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
            self.revoke_unused.start_unstored(user, tokens);
        }
        Ok(Forgotten { tally, sessions })
    }
}
