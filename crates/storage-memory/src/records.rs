//! Records fed by the bot or an import: one at a time, as a batch, as a stream, or all at once.

use crate::{state::MemoryStorage, tables::Tables};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Journal, Key, Kind, Subject, Tally},
    model::{
        ClusterId, GuildId, GuildWithRoles, Heartbeat, Member, Notice, Outline, Period, PeriodChange,
        PeriodSubject, Timestamp, UserId,
    },
    port::{
        ApplyError, Mutation, Numbered, Record, RecordSink, RecordSource, Records, Replace, StoreError,
        SyncError,
    },
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Number of exported records sent at once.
const EXPORT_BATCH: usize = 500;

#[async_trait]
impl Records for MemoryStorage {
    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        let needed = Mutation::check(&batch)?;
        self.apply_with(|state, journal| {
            if let Some(unknown) = needed.into_iter().find(|guild| !state.has_guild(*guild)) {
                return Err(ApplyError::UnknownGuild(unknown));
            }
            if has_too_many_notices(state, &batch) {
                return Err(ApplyError::TooManyNotices);
            }
            let mut tally = Tally::NOTHING;
            for mutation in batch {
                tally += apply(state, mutation, journal);
            }
            Ok(tally)
        })
    }

    async fn find(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        let state = self.read();
        let Key::Member(guild, user) = key else { return Ok(state.get(key).cloned()) };
        let seen = state.with_roles(*user, &[*guild]).pop();
        let member = |seen: GuildWithRoles| {
            Record::Member(Member { guild: *guild, user: *user, roles: Arc::unwrap_or_clone(seen.roles) })
        };
        Ok(seen.map(member))
    }

    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Applied, SyncError> {
        // The stream is read outside the lock, however long it takes, and then applied atomically.
        let mut staged = Staged::default();
        while let Some(records) = source.next().await.map_err(SyncError::Source)? {
            records.into_iter().for_each(|numbered| staged.take(numbered));
        }
        self.apply_with(|state, journal| staged.apply(state, replace, journal))
    }

    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
        let records: Vec<_> = {
            let state = self.read();
            Kind::ALL.into_iter().flat_map(|kind| state.all(kind)).cloned().collect()
        };
        for records in records.chunks(EXPORT_BATCH) {
            sink.take(records.to_vec()).await.map_err(SyncError::Sink)?;
        }
        Ok(())
    }

    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError> {
        let state = self.read();
        Ok(state.keys_about(user).iter().filter_map(|key| state.get(key)).cloned().collect())
    }

    async fn forget(&self, user: UserId) -> Result<Applied, StoreError> {
        self.apply_with(|state, journal| {
            // The history of settings keeps what was changed, without who.
            let mut tally = state.forget_editor(user);
            for key in state.keys_about(user) {
                tally += state.remove(&key, journal);
            }
            Ok(tally)
        })
    }
}

fn apply(state: &mut Tables, mutation: Mutation, journal: &mut Journal) -> Tally {
    match mutation {
        Mutation::Put(record) => state.put(record, journal),
        Mutation::Remove(key) => state.remove(&key, journal),
        Mutation::ReplaceTeam(roster) => {
            let members = roster.as_slice().iter().cloned().map(Record::Team);
            let team: BTreeMap<_, _> = members.map(|member| (member.key(), member)).collect();
            let mut tally = remove_others(state, Kind::Team, |key| team.contains_key(key), journal);
            for member in team.into_values() {
                tally += state.put(member, journal);
            }
            tally
        }
        Mutation::Report(report) => put_report(state, report, journal),
        Mutation::RemoveSilent(silent) => remove_silent(state, &silent, journal),
        Mutation::SignOff(cluster) => remove_report(state, &cluster, journal),
        Mutation::Period(change) => change_periods(state, &change, journal),
    }
}

/// Removes the records of a kind that are not kept.
fn remove_others(
    state: &mut Tables,
    kind: Kind,
    is_kept: impl Fn(&Key) -> bool,
    journal: &mut Journal,
) -> Tally {
    let mut tally = Tally::NOTHING;
    let gone: Vec<_> = state.all(kind).map(Record::key).filter(|key| !is_kept(key)).collect();
    for key in gone {
        tally += state.remove(&key, journal);
    }
    tally
}

fn put_report(state: &mut Tables, report: Heartbeat, journal: &mut Journal) -> Tally {
    let (cluster, report) = (report.cluster.clone(), Arc::new(report));
    let tally = match state.clusters.insert(cluster.clone(), Arc::clone(&report)) {
        None => Tally::ADDED,
        Some(earlier) if earlier == report => Tally::NOTHING,
        Some(_) => Tally::CHANGED,
    };
    journal.noted(tally, || Subject::Cluster(cluster))
}

fn remove_report(state: &mut Tables, cluster: &ClusterId, journal: &mut Journal) -> Tally {
    let gone = state.clusters.remove(cluster);
    let tally = gone.map_or(Tally::NOTHING, |_| Tally::REMOVED);
    journal.noted(tally, || Subject::Cluster(cluster.clone()))
}

fn remove_silent(state: &mut Tables, silent: &[(ClusterId, Timestamp)], journal: &mut Journal) -> Tally {
    let mut tally = Tally::NOTHING;
    for (cluster, heard) in silent {
        if state.clusters.get(cluster).is_some_and(|last| last.received_at == *heard) {
            tally += remove_report(state, cluster, journal);
        }
    }
    tally
}

/// Returns whether the batch would leave too many notices open.
fn has_too_many_notices(state: &Tables, batch: &[Mutation]) -> bool {
    let mut open: BTreeSet<_> = state.notices().filter(|it| it.is_open()).map(|it| &it.id).collect();
    batch.iter().any(|mutation| {
        match mutation {
            Mutation::Put(Record::Notice(notice)) if notice.is_open() => drop(open.insert(&notice.id)),
            Mutation::Put(Record::Notice(Notice { id, .. })) | Mutation::Remove(Key::Notice(id)) => {
                open.remove(id);
            }
            _ => return false,
        }
        open.len() > Notice::MAX_OPEN
    })
}

/// Applies a change of the bot's history. Extending a watched period is no change that others need to know of.
fn change_periods(state: &mut Tables, change: &PeriodChange, journal: &mut Journal) -> Tally {
    let periods: Vec<_> = state.periods().cloned().collect();
    let reports = state.clusters.iter().map(|(id, report)| (id.clone(), report.received_at)).collect();
    let Some(period) = change.decide(&periods, &reports) else { return Tally::NOTHING };
    let (extends, period) = (period.subject == PeriodSubject::Watched, Record::Period(period));
    if extends && state.get(&period.key()).is_some() {
        return state.set(period);
    }
    let tally = state.put(period, journal);
    let mut periods: Vec<_> = state.periods().cloned().collect();
    periods.sort_unstable_by_key(|period| Reverse(period.began_at));
    for oldest in periods.into_iter().skip(Period::KEPT) {
        state.unset(&Record::Period(oldest).key());
    }
    tally
}

/// The records of a sync so far: the last one per key, with the first line of that key. A guild sorts before its
/// members.
#[derive(Default)]
struct Staged(BTreeMap<Key, Numbered>);

impl Staged {
    fn take(&mut self, Numbered { line, record }: Numbered) {
        let line = self.0.get(&record.key()).map_or(line, |earlier| earlier.line.min(line));
        self.0.insert(record.key(), Numbered { line, record });
    }

    /// Applies the staged records. Returns an error and changes nothing if a member's guild is unknown.
    fn apply(self, state: &mut Tables, replace: &Replace, journal: &mut Journal) -> Result<Tally, SyncError> {
        let Self(staged) = self;
        let unknown = |guild: GuildId| !state.has_guild(guild) && !staged.contains_key(&Key::Guild(guild));
        let lost = staged.values().filter_map(|Numbered { line, record }| match record {
            Record::Member(Member { guild, .. }) | Record::Outline(Outline { guild, .. })
                if unknown(*guild) =>
            {
                Some((*line, *guild))
            }
            _ => None,
        });
        if let Some((line, guild)) = lost.min() {
            return Err(SyncError::UnknownGuild { line, guild });
        }
        let mut tally = Tally::NOTHING;
        for kind in &replace.kinds {
            let is_kept = |key: &Key| match key {
                Key::Guild(guild) | Key::Member(guild, _) | Key::Outline(guild)
                    if !replace.covers(*kind, *guild) =>
                {
                    true
                }
                key => staged.contains_key(key),
            };
            tally += remove_others(state, *kind, is_kept, journal);
        }
        for Numbered { record, .. } in staged.into_values() {
            tally += state.put(record, journal);
        }
        if replace.kinds.contains(&Kind::Cluster) {
            // No record carries a cluster, so replacing clusters removes all of them.
            for cluster in state.clusters.keys().cloned().collect::<Vec<_>>() {
                tally += remove_report(state, &cluster, journal);
            }
        }
        Ok(tally)
    }
}
