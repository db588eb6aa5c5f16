//! Data stored about a user: showing and forgetting it.

use super::{all::Core, token_box};
use crate::{
    change::Tally,
    model::{Feedback, Member, StaffPermissions, Subscription, UserId},
    port::{GrantSummary, Record, StoreError, StoreErrorKind},
    session::Session,
    settings::HistoryEntry,
};
use std::sync::Arc;

/// Shows what is stored about a user.
pub struct ShowUser(pub(super) Arc<Core>);

/// Everything that is stored about a user and that forgetting them would remove.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredUser {
    /// Sessions, oldest first.
    pub sessions: Vec<Session>,
    /// The platform's grant, without its tokens, which are never shown.
    pub grant: Option<GrantSummary>,
    /// Roles, by guild.
    pub members: Vec<Member>,
    /// The subscription.
    pub subscription: Option<Subscription>,
    /// Permissions granted by name.
    pub staff: Option<StaffPermissions>,
    /// Feedback, by id.
    pub feedback: Vec<Feedback>,
    /// Changes of settings, by guild and revision. Forgetting keeps them, without the user.
    pub settings: Vec<HistoryEntry>,
}

impl ShowUser {
    /// Returns everything that is stored about a user, or `None` if there is nothing.
    pub async fn show(&self, user: UserId) -> Result<Option<StoredUser>, StoreError> {
        let records = self.0.records.about(user).await?;
        if records.is_empty() {
            return Ok(None);
        }
        let mut stored = StoredUser::default();
        for record in records {
            match record {
                Record::Session(session) => stored.sessions.push(session),
                Record::Grant(_, grant) => stored.grant = Some(grant.into()),
                Record::Member(member) => stored.members.push(member),
                Record::SettingsEdit(entry) => stored.settings.push(entry),
                Record::Subscription(subscription) => stored.subscription = Some(subscription),
                Record::Staff(_, grants) => stored.staff = Some(grants),
                Record::Feedback(feedback) => stored.feedback.push(feedback),
                // Other kinds are not about a user.
                _ => {}
            }
        }
        stored.sessions.sort_by_key(|session| (session.created_at, session.id));
        stored.members.sort_by_key(|member| member.guild);
        stored.settings.sort_by_key(|entry| (entry.guild, entry.revision));
        stored.feedback.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(Some(stored))
    }
}

/// The outcome of forgetting a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    /// Number of removed records.
    pub tally: Tally,
    /// The sessions that ended, as of the moment before.
    pub sessions: Vec<Session>,
}

/// Forgets users.
pub struct ForgetUser(pub(super) Arc<Core>);

impl ForgetUser {
    /// Removes everything that is stored about a user, except a block. Idempotent.
    pub async fn forget(&self, user: UserId) -> Result<Forgotten, StoreError> {
        let sessions = self.0.sessions().of_user(user).await?;
        let grant = match self.0.grants().find(user).await {
            // An unreadable grant cannot be revoked, and is removed all the same.
            Err(error) if error.kind == StoreErrorKind::Corrupt => None,
            found => found?,
        };
        let tally = self.0.records.forget(user).await?.tally;
        let sealed = grant.and_then(|grant| grant.content.tokens);
        if let Some(Ok((tokens, _))) =
            sealed.map(|sealed| token_box::open(&*self.0.ports.vault, user, &sealed))
        {
            self.0.revoke_unused.start_unstored(user, tokens);
        }
        Ok(Forgotten { tally, sessions })
    }
}
