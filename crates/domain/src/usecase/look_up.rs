//! Looking up what the bot has reported, as it is stored.

use crate::{
    model::{Feedback, FeedbackId, Guild, GuildId, RoleSet, StaffGrants, Subscription, UserId},
    port::{StoreError, Stores},
};
use std::sync::Arc;

/// Looks up what the bot has reported. It changes nothing, and what is not there is nothing.
pub struct LookUp {
    /// Where it is kept.
    pub stores: Stores,
}

impl LookUp {
    /// The guild as the bot last reported it.
    pub async fn guild(&self, guild: GuildId) -> Result<Option<Arc<Guild>>, StoreError> {
        self.stores.guilds.find(guild).await
    }

    /// A member's roles: none where the bot reported none. Nothing where the guild is not known.
    pub async fn member(&self, guild: GuildId, user: UserId) -> Result<Option<Arc<RoleSet>>, StoreError> {
        Ok(self.stores.guilds.seen_by(user, &[guild]).await?.pop().map(|seen| seen.roles))
    }

    /// A user's subscription.
    pub async fn subscription(&self, user: UserId) -> Result<Option<Arc<Subscription>>, StoreError> {
        self.stores.subscriptions.of_user(user).await
    }

    /// What a user was granted by name.
    pub async fn staff(&self, user: UserId) -> Result<Option<StaffGrants>, StoreError> {
        self.stores.staff.grants(user).await
    }

    /// Whether a user is blocked.
    pub async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        self.stores.blocked.is_blocked(user).await
    }

    /// An entry of feedback, whatever its rating.
    pub async fn feedback(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError> {
        self.stores.feedback.find(id).await
    }
}
