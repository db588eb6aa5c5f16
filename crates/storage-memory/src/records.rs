//! Records fed by the bot or an import: one at a time, as a batch, as a stream, or all at once.

use crate::{state::MemoryStorage, tables::Tables};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Journal, Key, Kind, Subject, Tally},
    model::{
        ClusterId, GuildId, Heartbeat, Member, Notice, Period, PeriodChange, PeriodSubject, RoleSet, UserId,
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
        let found = state.get(key).cloned();
        // A known guild has every user as a member, if only without roles.
        Ok(found.or_else(|| match *key {
            Key::Member(guild, user) if state.has_guild(guild) => {
                Some(Record::Member(Member { guild, user, roles: RoleSet::default() }))
            }
            _ => None,
        }))
    }

    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Applied, SyncError> {
        // The stream is read outside the lock, however long it takes, and then applied atomically.
        let mut staged = Staged::new();
        while let Some(records) = source.next().await? {
            for Numbered { line, record } in records {
                let line = staged.get(&record.key()).map_or(line, |earlier| earlier.line.min(line));
                staged.insert(record.key(), Numbered { line, record });
            }
        }
        self.apply_with(|state, journal| sync(state, staged, replace, journal))
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
        Mutation::RemoveSilent(silent) => {
            let mut tally = Tally::NOTHING;
            for (cluster, heard) in silent {
                if state.clusters.get(&cluster).is_some_and(|last| last.received_at == heard) {
                    tally += remove_report(state, &cluster, journal);
                }
            }
            tally
        }
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
    let tally = state.clusters.remove(cluster).map_or(Tally::NOTHING, |_| Tally::REMOVED);
    journal.noted(tally, || Subject::Cluster(cluster.clone()))
}

/// Returns whether the batch would leave too many notices open.
fn has_too_many_notices(state: &Tables, batch: &[Mutation]) -> bool {
    let notices = state.contents::<Notice>();
    let mut open: BTreeSet<_> = notices.filter(|it| it.is_open()).map(|it| &it.id).collect();
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
    let periods: Vec<Period> = state.contents().cloned().collect();
    let reports = state.clusters.iter().map(|(id, report)| (id.clone(), report.received_at)).collect();
    let Some(period) = change.decide(&periods, &reports) else { return Tally::NOTHING };
    let (extends, period) = (period.subject == PeriodSubject::Watched, Record::Period(period));
    if extends && state.get(&period.key()).is_some() {
        return state.set(period);
    }
    let tally = state.put(period, journal);
    let mut periods: Vec<Period> = state.contents().cloned().collect();
    periods.sort_unstable_by_key(|period| Reverse(period.began_at));
    for oldest in periods.into_iter().skip(Period::KEPT) {
        state.unset(&Record::Period(oldest).key());
    }
    tally
}

/// The records of a sync: the last one per key, with the first line of that key. A guild sorts before its members.
type Staged = BTreeMap<Key, Numbered>;

/// Applies the records of a sync. Returns an error and changes nothing if a member's guild is unknown.
fn sync(
    state: &mut Tables,
    staged: Staged,
    replace: &Replace,
    journal: &mut Journal,
) -> Result<Tally, SyncError> {
    let unknown = |guild: GuildId| !state.has_guild(guild) && !staged.contains_key(&Key::Guild(guild));
    let lost = staged.iter().filter_map(|(key, Numbered { line, .. })| {
        let guild = key.guild().filter(|guild| unknown(*guild))?;
        Some((*line, guild))
    });
    if let Some((line, guild)) = lost.min() {
        return Err(SyncError::UnknownGuild { line, guild });
    }
    let mut tally = Tally::NOTHING;
    for kind in &replace.kinds {
        let is_kept = |key: &Key| {
            let guild = if let Key::Guild(guild) = key { Some(*guild) } else { key.guild() };
            guild.is_some_and(|guild| !replace.covers(*kind, guild)) || staged.contains_key(key)
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
