//! What the bot feeds.

use crate::{
    journal::Journal,
    keyed::Table,
    state::{MemoryStorage, State},
    world::{self, Snapshot, Staged},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Key, Tally},
    model::{ClusterId, Feedback, FeedbackId, GuildId, Heartbeat, Member, TeamMember, Timestamp, UserId},
    port::{
        ApplyError, BlockList, BotTelemetry, FeedbackStore, GuildDirectory, GuildSeen, Mutation, Record,
        RecordSink, RecordSource, Records, Replace, StoreError, SyncError, TeamRoster,
    },
    rules::Seed,
};
use std::{num::NonZeroU32, sync::Arc};

#[async_trait]
impl Records for MemoryStorage {
    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        let needed = Mutation::check(&batch)?;
        self.apply_with(|state, journal| {
            if let Some(unknown) = needed.into_iter().find(|guild| !state.guilds.has(*guild)) {
                return Err(ApplyError::UnknownGuild(unknown));
            }
            Ok(batch.into_iter().fold(Tally::NOTHING, |mut tally, mutation| {
                tally += apply(state, mutation, journal);
                tally
            }))
        })
    }

    async fn find(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        Ok(find(&self.read(), key))
    }

    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Applied, SyncError> {
        // The stream is read outside the lock, however long it takes; what it brought is then put in place at once.
        let mut staged = Staged::default();
        while let Some(records) = source.next().await.map_err(SyncError::Source)? {
            records.into_iter().for_each(|numbered| staged.take(numbered));
        }
        self.apply_with(|state, journal| staged.apply(state, replace, journal))
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

    async fn forget(&self, user: UserId) -> Result<Applied, StoreError> {
        self.apply_with(|state, journal| Ok(world::forget(state, user, journal)))
    }
}

fn apply(state: &mut State, mutation: Mutation, journal: &mut Journal) -> Tally {
    match mutation {
        Mutation::Put(record) => put(state, record, journal),
        Mutation::Remove(key) => remove(state, &key, journal),
        Mutation::ReplaceTeam(roster) => state.team.merge(roster.as_slice().to_vec(), true, journal),
        Mutation::Report(report) => state.clusters.put(report.cluster.clone(), Arc::new(report), journal),
        Mutation::RemoveSilent(silent) => remove_silent(state, &silent, journal),
    }
}

fn put(state: &mut State, record: Record, journal: &mut Journal) -> Tally {
    match record {
        Record::Guild(guild) => state.guilds.put(Arc::new(guild), journal),
        Record::Member(Member { guild, user, roles }) => {
            state.guilds.put_member(guild, user, Arc::new(roles), journal).unwrap_or_default()
        }
        Record::Subscription(it) => state.subscriptions.put(it.user, Arc::new(it), journal),
        Record::Staff(user, grants) => state.staff.put(user, grants, journal),
        Record::Blocked(user) => state.blocked.put(user, (), journal),
        Record::Feedback(entry) => state.feedback.put(entry.id.clone(), Arc::new(entry), journal),
        // They have no key, so the batch was refused.
        Record::Team(_) | Record::Session(_) | Record::Grant(..) => Tally::NOTHING,
    }
}

fn remove(state: &mut State, key: &Key, journal: &mut Journal) -> Tally {
    match key {
        Key::Guild(guild) => state.guilds.remove(*guild, journal),
        Key::Member(guild, user) => state.guilds.remove_member(*guild, *user, journal).unwrap_or_default(),
        Key::Subscription(user) => state.subscriptions.remove(user, journal),
        Key::Staff(user) => state.staff.remove(user, journal),
        Key::Blocked(user) => state.blocked.remove(user, journal),
        Key::Feedback(id) => state.feedback.remove(id, journal),
    }
}

fn remove_silent(state: &mut State, silent: &[(ClusterId, Timestamp)], journal: &mut Journal) -> Tally {
    let mut tally = Tally::NOTHING;
    for (cluster, heard) in silent {
        if state.clusters.get(cluster).is_some_and(|last| last.received_at == *heard) {
            tally += state.clusters.remove(cluster, journal);
        }
    }
    tally
}

fn find(state: &State, key: &Key) -> Option<Record> {
    match key {
        Key::Guild(guild) => state.guilds.find(*guild).map(|guild| Record::Guild((*guild).clone())),
        Key::Member(guild, user) => {
            let seen = state.guilds.seen_by(*user, &[*guild]).pop()?;
            Some(Record::Member(Member { guild: *guild, user: *user, roles: (*seen.roles).clone() }))
        }
        Key::Subscription(user) => {
            state.subscriptions.of_user(*user).map(|kept| Record::Subscription((*kept).clone()))
        }
        Key::Staff(user) => state.staff.get(user).map(|grants| Record::Staff(*user, *grants)),
        Key::Blocked(user) => state.blocked.get(user).map(|()| Record::Blocked(*user)),
        Key::Feedback(id) => state.feedback.find(id).map(|entry| Record::Feedback((*entry).clone())),
    }
}

#[async_trait]
impl BlockList for MemoryStorage {
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        Ok(self.read().blocked.get(&user).is_some())
    }
}

#[async_trait]
impl BotTelemetry for MemoryStorage {
    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError> {
        Ok(self.read().clusters.iter().map(|(_, heartbeat)| Arc::clone(heartbeat)).collect())
    }
}

#[async_trait]
impl GuildDirectory for MemoryStorage {
    async fn seen_by(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildSeen>, StoreError> {
        Ok(self.read().guilds.seen_by(user, guilds))
    }
}

#[async_trait]
impl TeamRoster for MemoryStorage {
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        Ok(self.read().team.all())
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
}
