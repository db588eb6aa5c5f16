//! What the bot feeds.

use crate::{
    keyed::Table,
    state::MemoryStorage,
    world::{self, Snapshot, Staged},
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
impl BlockList for MemoryStorage {
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        Ok(self.read().blocked.get(&user).is_some())
    }

    async fn block(&self, user: UserId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.blocked.put(user, (), journal)))
    }

    async fn unblock(&self, user: UserId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.blocked.remove(&user, journal)))
    }
}

#[async_trait]
impl BotTelemetry for MemoryStorage {
    async fn record(&self, heartbeat: &Heartbeat) -> Result<Tally, StoreError> {
        let row = Arc::new(heartbeat.clone());
        Ok(self.write(|state, journal| state.clusters.put(row.cluster.clone(), row, journal)))
    }

    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError> {
        Ok(self.read().clusters.iter().map(|(_, heartbeat)| Arc::clone(heartbeat)).collect())
    }

    async fn forget_silent(&self, silent: &[(ClusterId, Timestamp)]) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| {
            let mut tally = Tally::NOTHING;
            for (cluster, heard) in silent {
                if state.clusters.get(cluster).is_some_and(|last| last.received_at == *heard) {
                    tally += state.clusters.remove(cluster, journal);
                }
            }
            tally
        }))
    }
}

#[async_trait]
impl FeedbackStore for MemoryStorage {
    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError> {
        Ok(self.read().feedback.pick_positive(count, seed))
    }

    async fn positive_after(
        &self,
        after: Option<&FeedbackId>,
        most: NonZeroU32,
    ) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let most = usize::try_from(most.get()).unwrap_or(usize::MAX);
        Ok(self.read().feedback.positive_after(after).take(most).cloned().collect())
    }

    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError> {
        Ok(self.read().feedback.find(id))
    }

    async fn put(&self, feedback: &Feedback) -> Result<Tally, StoreError> {
        let (id, row) = (feedback.id.clone(), Arc::new(feedback.clone()));
        Ok(self.write(|state, journal| state.feedback.put(id, row, journal)))
    }

    async fn remove(&self, id: &FeedbackId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.feedback.remove(id, journal)))
    }
}

#[async_trait]
impl GuildDirectory for MemoryStorage {
    async fn seen_by(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildSeen>, StoreError> {
        Ok(self.read().guilds.seen_by(user, guilds))
    }

    async fn find(&self, guild: GuildId) -> Result<Option<Arc<Guild>>, StoreError> {
        Ok(self.read().guilds.find(guild))
    }

    async fn put(&self, guild: &Guild) -> Result<Tally, StoreError> {
        let guild = Arc::new(guild.clone());
        Ok(self.write(|state, journal| state.guilds.put(guild, journal)))
    }

    async fn remove(&self, guild: GuildId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.guilds.remove(guild, journal)))
    }

    async fn put_member(&self, member: &Member) -> Result<Option<Tally>, StoreError> {
        let roles = Arc::new(member.roles.clone());
        Ok(self.write(|state, journal| state.guilds.put_member(member.guild, member.user, roles, journal)))
    }

    async fn remove_member(&self, guild: GuildId, user: UserId) -> Result<Option<Tally>, StoreError> {
        Ok(self.write(|state, journal| state.guilds.remove_member(guild, user, journal)))
    }
}

#[async_trait]
impl StaffDirectory for MemoryStorage {
    async fn grants(&self, user: UserId) -> Result<Option<StaffGrants>, StoreError> {
        Ok(self.read().staff.get(&user).copied())
    }

    async fn put(&self, user: UserId, grants: StaffGrants) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.staff.put(user, grants, journal)))
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.staff.remove(&user, journal)))
    }
}

#[async_trait]
impl SubscriptionStore for MemoryStorage {
    async fn of_user(&self, user: UserId) -> Result<Option<Arc<Subscription>>, StoreError> {
        Ok(self.read().subscriptions.of_user(user))
    }

    async fn naming(&self, guilds: &[GuildId]) -> Result<Vec<Arc<Subscription>>, StoreError> {
        Ok(self.read().subscriptions.naming(guilds))
    }

    async fn put(&self, subscription: &Subscription) -> Result<Tally, StoreError> {
        let row = Arc::new(subscription.clone());
        Ok(self.write(|state, journal| state.subscriptions.put(row.user, row, journal)))
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.subscriptions.remove(&user, journal)))
    }
}

#[async_trait]
impl TeamRoster for MemoryStorage {
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        Ok(self.read().team.all())
    }

    async fn replace(&self, roster: &Roster) -> Result<Tally, StoreError> {
        let members = roster.as_slice().to_vec();
        Ok(self.write(|state, journal| state.team.merge(members, true, journal)))
    }
}

#[async_trait]
impl WorldStore for MemoryStorage {
    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Tally, SyncError> {
        // The stream is read outside the lock, however long it takes; what it brought is then put in place at once.
        let mut staged = Staged::default();
        while let Some(records) = source.next().await.map_err(SyncError::Source)? {
            records.into_iter().for_each(|numbered| staged.take(numbered));
        }
        self.write(|state, journal| staged.apply(state, replace, journal))
    }

    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
        let snapshot = Snapshot::of(&self.read());
        for records in snapshot.into_batches() {
            sink.take(records).await.map_err(SyncError::Sink)?;
        }
        Ok(())
    }

    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError> {
        Ok(world::about(&self.read(), user))
    }

    async fn forget(&self, user: UserId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| world::forget(state, user, journal)))
    }
}
