//! Taking in what the bot reports.

use super::{Following, TakeIn};
use crate::{
    change::{Kind, Tally},
    model::{
        Feedback, FeedbackId, Guild, GuildId, Heartbeat, Member, Roster, StaffGrants, Subscription, UserId,
    },
    port::{RecordSource, Replace, StoreError, Stores, SyncError},
};
use std::sync::Arc;

/// Takes in what the bot reports. When a method returns, the public answers of this process show it.
pub struct Feed {
    /// Where it goes.
    pub stores: Stores,
    /// Whoever keeps copies.
    pub following: Arc<Following>,
}

impl Feed {
    /// Adds or replaces a guild.
    pub async fn put_guild(&self, guild: &Guild) -> Result<Tally, StoreError> {
        self.once_shown(Kind::Guild, self.stores.guilds.put(guild).await).await
    }

    /// Removes a guild and its members.
    pub async fn remove_guild(&self, guild: GuildId) -> Result<Tally, StoreError> {
        self.once_shown(Kind::Guild, self.stores.guilds.remove(guild).await).await
    }

    /// Sets a member's roles. Nothing where the guild is not known.
    pub async fn put_member(&self, member: &Member) -> Result<Option<Tally>, StoreError> {
        self.once_shown(Kind::Member, self.stores.guilds.put_member(member).await).await
    }

    /// Forgets a member's roles. Nothing where the guild is not known.
    pub async fn remove_member(&self, guild: GuildId, user: UserId) -> Result<Option<Tally>, StoreError> {
        self.once_shown(Kind::Member, self.stores.guilds.remove_member(guild, user).await).await
    }

    /// Adds or replaces a subscription.
    pub async fn put_subscription(&self, subscription: &Subscription) -> Result<Tally, StoreError> {
        self.once_shown(Kind::Subscription, self.stores.subscriptions.put(subscription).await).await
    }

    /// Removes a subscription.
    pub async fn remove_subscription(&self, user: UserId) -> Result<Tally, StoreError> {
        self.once_shown(Kind::Subscription, self.stores.subscriptions.remove(user).await).await
    }

    /// Grants a user exactly these by name.
    pub async fn put_staff(&self, user: UserId, grants: StaffGrants) -> Result<Tally, StoreError> {
        self.once_shown(Kind::Staff, self.stores.staff.put(user, grants).await).await
    }

    /// Takes back what a user was granted by name.
    pub async fn remove_staff(&self, user: UserId) -> Result<Tally, StoreError> {
        self.once_shown(Kind::Staff, self.stores.staff.remove(user).await).await
    }

    /// Blocks a user.
    pub async fn block(&self, user: UserId) -> Result<Tally, StoreError> {
        self.once_shown(Kind::Blocked, self.stores.blocked.block(user).await).await
    }

    /// Lets a user in again.
    pub async fn unblock(&self, user: UserId) -> Result<Tally, StoreError> {
        self.once_shown(Kind::Blocked, self.stores.blocked.unblock(user).await).await
    }

    /// Adds or replaces an entry of feedback.
    pub async fn put_feedback(&self, feedback: &Feedback) -> Result<Tally, StoreError> {
        self.once_shown(Kind::Feedback, self.stores.feedback.put(feedback).await).await
    }

    /// Removes an entry of feedback.
    pub async fn remove_feedback(&self, id: &FeedbackId) -> Result<Tally, StoreError> {
        self.once_shown(Kind::Feedback, self.stores.feedback.remove(id).await).await
    }

    /// Replaces the team.
    pub async fn replace_team(&self, roster: &Roster) -> Result<Tally, StoreError> {
        self.once_shown(Kind::Team, self.stores.team.replace(roster).await).await
    }

    /// Takes a cluster's report.
    pub async fn report(&self, heartbeat: &Heartbeat) -> Result<Tally, StoreError> {
        self.once_shown(Kind::Cluster, self.stores.telemetry.record(heartbeat).await).await
    }

    /// Takes in a whole stream as one change.
    pub async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Tally, SyncError> {
        let take_in = TakeIn { world: Arc::clone(&self.stores.world), team: Arc::clone(&self.stores.team) };
        let tally = take_in.sync(replace, source).await?;
        // It stands whatever becomes of the copies.
        let _ = self.following.catch_up().await;
        Ok(tally)
    }

    /// What came of a write, once this process shows it.
    async fn once_shown<T>(&self, kind: Kind, written: Result<T, StoreError>) -> Result<T, StoreError> {
        let tally = written?;
        self.following.show(kind).await;
        Ok(tally)
    }
}
