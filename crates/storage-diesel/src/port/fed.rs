//! What the bot feeds.

use crate::{
    connection::AnyConnection,
    export,
    failure::Failure,
    storage::DieselStorage,
    sync,
    table::{
        blocked, clusters, feedback, grants, guilds, members, sessions, staff, subscriptions, team,
        unreadable::Unreadable, write::Write,
    },
};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{
        ClusterId, Feedback, FeedbackId, Guild, GuildId, Heartbeat, Member, Roster, StaffGrants,
        Subscription, TeamMember, Timestamp, UserId,
    },
    port::{
        BlockList, BotTelemetry, FeedbackStore, GuildDirectory, GuildSeen, Record, RecordSink, RecordSource,
        Replace, StaffDirectory, StoreError, SubscriptionStore, SyncError, TeamRoster, WorldStore,
    },
    rules::Seed,
};
use std::{num::NonZeroU32, sync::Arc};

#[async_trait]
impl BlockList for DieselStorage {
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        self.read(move |db| Ok(blocked::is_blocked(db, user)?)).await
    }

    async fn block(&self, user: UserId) -> Result<Tally, StoreError> {
        self.write(move |write| blocked::put(write, user)).await
    }

    async fn unblock(&self, user: UserId) -> Result<Tally, StoreError> {
        self.write(move |write| blocked::remove(write, user)).await
    }
}

#[async_trait]
impl BotTelemetry for DieselStorage {
    async fn record(&self, heartbeat: &Heartbeat) -> Result<Tally, StoreError> {
        let heartbeat = heartbeat.clone();
        self.write_urgently(move |write| clusters::put(write, &heartbeat)).await
    }

    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| Ok(clusters::all(db, &unreadable)?)).await
    }

    async fn forget_silent(&self, silent: &[(ClusterId, Timestamp)]) -> Result<Tally, StoreError> {
        if silent.is_empty() && !self.read(|db| Ok(clusters::has_unreadable(db)?)).await? {
            return Ok(Tally::NOTHING);
        }
        let silent = silent.to_vec();
        self.write_urgently(move |write| clusters::forget_silent(write, &silent)).await
    }
}

#[async_trait]
impl FeedbackStore for DieselStorage {
    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let unreadable = self.unreadable();
        self.snapshot(move |db| Ok(feedback::pick(db, count, seed, &unreadable)?)).await
    }

    async fn positive_after(
        &self,
        after: Option<&FeedbackId>,
        most: NonZeroU32,
    ) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let (after, unreadable) = (after.cloned(), self.unreadable());
        self.snapshot(move |db| Ok(feedback::positive_after(db, after.as_ref(), most, &unreadable)?)).await
    }

    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError> {
        let (id, unreadable) = (id.clone(), self.unreadable());
        self.read(move |db| Ok(feedback::find(db, &id, &unreadable)?)).await
    }

    async fn put(&self, entry: &Feedback) -> Result<Tally, StoreError> {
        let entry = entry.clone();
        self.write(move |write| feedback::put(write, &entry)).await
    }

    async fn remove(&self, id: &FeedbackId) -> Result<Tally, StoreError> {
        let id = id.clone();
        self.write(move |write| feedback::remove(write, id.as_str())).await
    }
}

#[async_trait]
impl GuildDirectory for DieselStorage {
    async fn seen_by(&self, user: UserId, asked: &[GuildId]) -> Result<Vec<GuildSeen>, StoreError> {
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let (asked, unreadable) = (asked.to_vec(), self.unreadable());
        self.snapshot(move |db| Ok(guilds::seen_by(db, user, &asked, &unreadable)?)).await
    }

    async fn find(&self, guild: GuildId) -> Result<Option<Arc<Guild>>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| Ok(guilds::find(db, guild, &unreadable)?.map(Arc::new))).await
    }

    async fn put(&self, guild: &Guild) -> Result<Tally, StoreError> {
        let guild = guild.clone();
        self.write(move |write| guilds::put(write, &guild)).await
    }

    async fn remove(&self, guild: GuildId) -> Result<Tally, StoreError> {
        self.write(move |write| guilds::remove(write, guild)).await
    }

    async fn put_member(&self, member: &Member) -> Result<Option<Tally>, StoreError> {
        let member = member.clone();
        self.write(move |write| {
            let known = guilds::is_known(write.db, member.guild)?;
            known.then(|| members::put(write, &member)).transpose()
        })
        .await
    }

    async fn remove_member(&self, guild: GuildId, user: UserId) -> Result<Option<Tally>, StoreError> {
        self.write(move |write| {
            let known = guilds::is_known(write.db, guild)?;
            known.then(|| members::remove(write, guild, user)).transpose()
        })
        .await
    }
}

#[async_trait]
impl StaffDirectory for DieselStorage {
    async fn grants(&self, user: UserId) -> Result<Option<StaffGrants>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| Ok(staff::grants(db, user, &unreadable)?)).await
    }

    async fn put(&self, user: UserId, grants: StaffGrants) -> Result<Tally, StoreError> {
        self.write(move |write| staff::put(write, user, grants)).await
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        self.write(move |write| staff::remove(write, user)).await
    }
}

#[async_trait]
impl SubscriptionStore for DieselStorage {
    async fn of_user(&self, user: UserId) -> Result<Option<Arc<Subscription>>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| Ok(subscriptions::of_user(db, user, &unreadable)?)).await
    }

    async fn naming(&self, guilds: &[GuildId]) -> Result<Vec<Arc<Subscription>>, StoreError> {
        if guilds.is_empty() {
            return Ok(Vec::new());
        }
        let (guilds, unreadable) = (guilds.to_vec(), self.unreadable());
        self.snapshot(move |db| Ok(subscriptions::naming(db, &guilds, &unreadable)?)).await
    }

    async fn put(&self, subscription: &Subscription) -> Result<Tally, StoreError> {
        let subscription = subscription.clone();
        self.write(move |write| subscriptions::put(write, &subscription)).await
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        self.write(move |write| subscriptions::remove(write, user)).await
    }
}

#[async_trait]
impl TeamRoster for DieselStorage {
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| Ok(team::all(db, &unreadable)?.into())).await
    }

    async fn replace(&self, roster: &Roster) -> Result<Tally, StoreError> {
        let roster = roster.clone();
        self.write(move |write| team::replace(write, &roster)).await
    }
}

/// What forgetting a user would remove.
fn about(db: &mut AnyConnection, user: UserId, unreadable: &Unreadable) -> Result<Vec<Record>, Failure> {
    let sessions = unreadable.all(sessions::of_user(db, user)?);
    let mut records: Vec<_> = sessions.into_iter().map(Record::Session).collect();
    match grants::find(db, user, unreadable) {
        Err(Failure::Row(_)) => {}
        found => records.extend(found?.map(|grant| Record::Grant(user, grant))),
    }
    records.extend(members::of_user(db, user, unreadable)?.into_iter().map(Record::Member));
    records.extend(staff::grants(db, user, unreadable)?.map(|grants| Record::Staff(user, grants)));
    let subscription = subscriptions::of_user(db, user, unreadable)?;
    records.extend(subscription.map(|kept| Record::Subscription((*kept).clone())));
    records.extend(feedback::of_submitter(db, user, unreadable)?.into_iter().map(Record::Feedback));
    Ok(records)
}

/// Removes what is kept of a user, but for a block and a place in the team.
fn forget(write: &mut Write<'_>, user: UserId) -> Result<Tally, Failure> {
    let mut tally = sessions::forget(write, user)?;
    tally += grants::remove(write, user)?;
    tally += members::forget(write, user)?;
    tally += staff::remove(write, user)?;
    tally += subscriptions::remove(write, user)?;
    tally += feedback::forget(write, user)?;
    Ok(tally)
}

#[async_trait]
impl WorldStore for DieselStorage {
    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Tally, SyncError> {
        sync::run(self, replace, source, sync::Fate::Kept).await
    }

    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
        export::run(self, sink).await
    }

    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError> {
        let unreadable = self.unreadable();
        self.snapshot(move |db| about(db, user, &unreadable)).await
    }

    async fn forget(&self, user: UserId) -> Result<Tally, StoreError> {
        self.write(move |write| forget(write, user)).await
    }
}
