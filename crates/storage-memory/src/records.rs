//! Records fed by the bot or an import: one at a time, as a batch, as a stream, or all at once.

use crate::{
    journal::Journal,
    keyed::Table,
    state::{MemoryStorage, Tables},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Key, Kind, Tally},
    model::{
        ClusterId, GuildId, Member, Name, Notice, Outline, Period, PeriodChange, PeriodSubject, TeamMember,
        Timestamp, UserId,
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
            if let Some(unknown) = needed.into_iter().find(|guild| !state.guilds.has(*guild)) {
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
        Ok(find(&self.read(), key))
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
            let keys = Kind::ALL.into_iter().flat_map(|kind| keys_of(&state, kind));
            keys.filter_map(|key| find(&state, &key)).collect()
        };
        for records in records.chunks(EXPORT_BATCH) {
            sink.take(records.to_vec()).await.map_err(SyncError::Sink)?;
        }
        Ok(())
    }

    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError> {
        let state = self.read();
        Ok(keys_about(&state, user).iter().filter_map(|key| find(&state, key)).collect())
    }

    async fn forget(&self, user: UserId) -> Result<Applied, StoreError> {
        self.apply_with(|state, journal| {
            // The history of settings keeps what was changed, without who.
            let mut tally = state.forget_editor(user);
            for key in keys_about(state, user) {
                tally += remove(state, &key, journal);
            }
            Ok(tally)
        })
    }
}

fn apply(state: &mut Tables, mutation: Mutation, journal: &mut Journal) -> Tally {
    match mutation {
        Mutation::Put(record) => put(state, record, journal),
        Mutation::Remove(key) => remove(state, &key, journal),
        Mutation::ReplaceTeam(roster) => {
            let members = roster.as_slice().iter().cloned().map(|member| (team_key(&member), member));
            state.team.merge(members.collect(), true, journal)
        }
        Mutation::Report(report) => state.clusters.put(report.cluster.clone(), Arc::new(report), journal),
        Mutation::RemoveSilent(silent) => remove_silent(state, &silent, journal),
        Mutation::SignOff(cluster) => state.clusters.remove(&cluster, journal),
        Mutation::Period(change) => change_periods(state, &change, journal),
    }
}

fn put(state: &mut Tables, record: Record, journal: &mut Journal) -> Tally {
    match record {
        Record::Guild(guild) => state.guilds.put(Arc::new(guild), journal),
        // Members of a guild that the same sync removed are ignored.
        Record::Member(Member { guild, user, roles }) => {
            state.guilds.put_member(guild, user, Arc::new(roles), journal).unwrap_or_default()
        }
        Record::Subscription(it) => state.subscriptions.put(it.user, Arc::new(it), journal),
        Record::Staff(user, grants) => state.staff.put(user, grants, journal),
        Record::Blocked(user) => state.blocked.put(user, (), journal),
        Record::Feedback(entry) => state.feedback.put(entry.id.clone(), Arc::new(entry), journal),
        Record::Team(member) => state.team.put(team_key(&member), member, journal),
        // Like members.
        Record::Outline(outline) if !state.guilds.has(outline.guild) => Tally::NOTHING,
        Record::Outline(outline) => state.outlines.put(outline.guild, Arc::new(outline), journal),
        Record::Schema(schema) => state.schema.put((), Arc::new(schema), journal),
        Record::Settings(guild, settings) => state.settings.put(guild, settings, journal),
        Record::SettingsEdit(entry) => {
            state.settings_edits.put((entry.guild, entry.revision), entry, journal)
        }
        Record::Notice(notice) => state.notices.put(notice.id.clone(), notice, journal),
        Record::Period(it) => state.periods.put((it.subject.clone(), it.began_at), it, journal),
        Record::Session(session) => state.sessions.put(session.id, session, journal),
        Record::Grant(user, grant) => state.grants.put(user, grant, journal),
    }
}

fn remove(state: &mut Tables, key: &Key, journal: &mut Journal) -> Tally {
    match key {
        Key::Guild(guild) => {
            // It goes with the guild, and is not counted.
            state.outlines.remove(guild, journal);
            state.guilds.remove(*guild, journal)
        }
        Key::Outline(guild) => state.outlines.remove(guild, journal),
        Key::Member(guild, user) => state.guilds.remove_member(*guild, *user, journal).unwrap_or_default(),
        Key::Subscription(user) => state.subscriptions.remove(user, journal),
        Key::Staff(user) => state.staff.remove(user, journal),
        Key::Blocked(user) => state.blocked.remove(user, journal),
        Key::Feedback(id) => state.feedback.remove(id, journal),
        Key::Team(user, category) => state.team.remove(&(*user, category.clone()), journal),
        Key::Schema(()) => state.schema.remove(&(), journal),
        Key::Settings(guild) => state.settings.remove(guild, journal),
        Key::SettingsEdit(guild, revision) => state.settings_edits.remove(&(*guild, *revision), journal),
        Key::Notice(id) => state.notices.remove(id, journal),
        Key::Period(subject, began_at) => state.periods.remove(&(subject.clone(), *began_at), journal),
        Key::Session(id) => state.sessions.remove(id, journal),
        Key::Grant(user) => state.grants.remove(user, journal),
    }
}

fn find(state: &Tables, key: &Key) -> Option<Record> {
    match key {
        Key::Guild(guild) => state.guilds.find(*guild).map(|guild| Record::Guild((*guild).clone())),
        Key::Member(guild, user) => {
            let seen = state.guilds.with_roles(*user, &[*guild]).pop()?;
            Some(Record::Member(Member { guild: *guild, user: *user, roles: (*seen.roles).clone() }))
        }
        Key::Subscription(user) => {
            state.subscriptions.of_user(*user).map(|kept| Record::Subscription((*kept).clone()))
        }
        Key::Staff(user) => state.staff.get(user).map(|grants| Record::Staff(*user, *grants)),
        Key::Blocked(user) => state.blocked.get(user).map(|()| Record::Blocked(*user)),
        Key::Feedback(id) => state.feedback.find(id).map(|entry| Record::Feedback((*entry).clone())),
        Key::Team(user, category) => state.team.get(&(*user, category.clone())).cloned().map(Record::Team),
        Key::Outline(guild) => state.outlines.get(guild).map(|outline| Record::Outline((**outline).clone())),
        Key::Schema(()) => state.schema.get(&()).map(|schema| Record::Schema((**schema).clone())),
        Key::Settings(guild) => {
            state.settings.get(guild).map(|settings| Record::Settings(*guild, settings.clone()))
        }
        Key::SettingsEdit(guild, revision) => {
            state.settings_edits.get(&(*guild, *revision)).cloned().map(Record::SettingsEdit)
        }
        Key::Notice(id) => state.notices.get(id).cloned().map(Record::Notice),
        Key::Period(subject, began_at) => {
            state.periods.get(&(subject.clone(), *began_at)).cloned().map(Record::Period)
        }
        Key::Session(id) => state.sessions.find(id).map(Record::Session),
        Key::Grant(user) => state.grants.find(*user).map(|grant| Record::Grant(*user, grant)),
    }
}

/// Returns the keys of all records of a kind, in order.
fn keys_of(state: &Tables, kind: Kind) -> Vec<Key> {
    let users = |users: Vec<UserId>, key: fn(UserId) -> Key| users.into_iter().map(key).collect();
    let mut keys: Vec<_> = match kind {
        Kind::Guild => state.guilds.all().map(|known| Key::Guild(known.guild.id)).collect(),
        Kind::Member => state.guilds.all_members().map(|(guild, user)| Key::Member(guild, user)).collect(),
        Kind::Subscription => users(state.subscriptions.keys(), Key::Subscription),
        Kind::Staff => users(state.staff.keys(), Key::Staff),
        Kind::Blocked => users(state.blocked.keys(), Key::Blocked),
        Kind::Feedback => state.feedback.keys().into_iter().map(Key::Feedback).collect(),
        Kind::Team => {
            state.team.keys().into_iter().map(|(user, category)| Key::Team(user, category)).collect()
        }
        Kind::Outline => state.outlines.keys().into_iter().map(Key::Outline).collect(),
        Kind::Schema => state.schema.keys().into_iter().map(Key::Schema).collect(),
        Kind::Settings => state.settings.keys().into_iter().map(Key::Settings).collect(),
        Kind::SettingsEdit => {
            let keys = state.settings_edits.keys().into_iter();
            keys.map(|(guild, revision)| Key::SettingsEdit(guild, revision)).collect()
        }
        Kind::Notice => state.notices.keys().into_iter().map(Key::Notice).collect(),
        Kind::Period => {
            let keys = state.periods.keys().into_iter();
            keys.map(|(subject, began_at)| Key::Period(subject, began_at)).collect()
        }
        Kind::Session => state.sessions.keys().into_iter().map(Key::Session).collect(),
        Kind::Grant => users(state.grants.keys(), Key::Grant),
        Kind::Cluster | Kind::Applied => Vec::new(),
    };
    keys.sort_unstable();
    keys
}

/// Returns the keys of all records that name the user.
fn keys_about(state: &Tables, user: UserId) -> Vec<Key> {
    let sessions = state.sessions.of_user(user).map(|session| Key::Session(session.id));
    let members = state.guilds.of_member(user).map(|guild| Key::Member(guild, user));
    let feedback = state.feedback.of_submitter(user).cloned().map(Key::Feedback);
    let edits = state.settings_edits.iter().filter(move |(_, entry)| entry.edit.by == Some(user));
    let edits = edits.map(|((guild, revision), _)| Key::SettingsEdit(*guild, *revision));
    let single = [Key::Grant(user), Key::Staff(user), Key::Subscription(user)];
    sessions.chain(members).chain(feedback).chain(edits).chain(single).collect()
}

fn team_key(member: &TeamMember) -> (UserId, Name) {
    let (user, category) = member.key();
    (user, category.clone())
}

fn remove_silent(state: &mut Tables, silent: &[(ClusterId, Timestamp)], journal: &mut Journal) -> Tally {
    let mut tally = Tally::NOTHING;
    for (cluster, heard) in silent {
        if state.clusters.get(cluster).is_some_and(|last| last.received_at == *heard) {
            tally += state.clusters.remove(cluster, journal);
        }
    }
    tally
}

/// Returns whether the batch would leave too many notices open.
fn has_too_many_notices(state: &Tables, batch: &[Mutation]) -> bool {
    let mut open: BTreeSet<_> =
        state.notices.iter().filter(|(_, it)| it.is_open()).map(|(id, _)| id).collect();
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
    let periods: Vec<_> = state.periods.iter().map(|(_, period)| period.clone()).collect();
    let reports = state.clusters.iter().map(|(id, report)| (id.clone(), report.received_at)).collect();
    let Some(period) = change.decide(&periods, &reports) else { return Tally::NOTHING };
    let (key, extends) =
        ((period.subject.clone(), period.began_at), period.subject == PeriodSubject::Watched);
    if extends && state.periods.get(&key).is_some() {
        return state.periods.set(key, period);
    }
    let tally = state.periods.put(key, period, journal);
    let mut keys = state.periods.keys();
    keys.sort_unstable_by_key(|(_, began_at)| Reverse(*began_at));
    for key in keys.iter().skip(Period::KEPT) {
        state.periods.unset(key);
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
        let unknown = |guild: GuildId| !state.guilds.has(guild) && !staged.contains_key(&Key::Guild(guild));
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
            for key in keys_of(state, *kind) {
                let covered = match key {
                    Key::Guild(guild) | Key::Member(guild, _) | Key::Outline(guild) => {
                        replace.covers(*kind, guild)
                    }
                    _ => true,
                };
                if covered && !staged.contains_key(&key) {
                    tally += remove(state, &key, journal);
                }
            }
        }
        for Numbered { record, .. } in staged.into_values() {
            tally += put(state, record, journal);
        }
        if replace.kinds.contains(&Kind::Cluster) {
            // No record carries a cluster, so replacing clusters removes all of them.
            tally += state.clusters.merge(BTreeMap::new(), true, journal);
        }
        Ok(tally)
    }
}
