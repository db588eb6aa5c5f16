//! Ports over the records that the bot feeds.

use super::{sessions, settings};
use crate::{
    connection::{Access, AnyConnection},
    export,
    failure::WorkError,
    schema::{clusters as cluster_columns, notices, periods},
    storage::DieselStorage,
    sync,
    table::{
        clusters,
        column::Field as _,
        feedback, guilds,
        history::Write,
        records,
        row::{
            BlockedRow, ClusterRow, Columns as _, FeedbackRow, GuildRow, MemberRow, NoticeRow, PeriodRow,
            Row as _, SettingsEditRow, TeamRow,
        },
        unreadable::Unreadable,
    },
};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Key, Kind, Subject, Tally},
    model::{
        Feedback, FeedbackId, GuildId, Heartbeat, Notice, NoticeId, Period, PeriodChange, PeriodSubject,
        Roster, TeamMember, Timestamp, UserId,
    },
    port::{
        ApplyError, BlockList, BotTelemetry, FeedbackStore, GuildDirectory, GuildTotals, GuildWithRoles,
        Mutation, Record, RecordSink, RecordSource, Records, Replace, StatusHistory, StoreError, SyncError,
        TeamRoster,
    },
    rules::Seed,
};
use diesel::{
    ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl, dsl::sql, sql_types::BigInt,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
    sync::Arc,
};

#[async_trait]
impl Records for DieselStorage {
    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        if let [Mutation::RemoveSilent(silent)] = &*batch
            && silent.is_empty()
            && !self.read(clusters::has_unreadable).await?
        {
            return Ok(Applied::default());
        }
        let needed = Mutation::check(&batch)?;
        let urgent = batch.iter().all(|mutation| matches!(mutation.kind(), Kind::Cluster | Kind::Period));
        let access = if urgent { Access::Urgent } else { Access::All };
        let work = move |write: &mut Write<'_>| {
            for guild in needed {
                if GuildRow::stored(write.db, &Key::Guild(guild))?.is_none() {
                    return Ok(Err(ApplyError::UnknownGuild(guild)));
                }
            }
            let mut tally = Tally::NOTHING;
            for mutation in batch {
                if let Mutation::Put(Record::Notice(notice)) = &mutation
                    && notice.is_open()
                    && other_open_notices(write.db, &notice.id)? >= Notice::MAX_OPEN as i64
                {
                    return Ok(Err(ApplyError::TooManyNotices));
                }
                tally += apply(write, mutation)?;
            }
            Ok(Ok(write.applied(tally)?))
        };
        self.write(access, work).await?
    }

    async fn find(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        let key = key.clone();
        self.snapshot(move |db, unreadable| records::find(db, &key, unreadable)).await
    }

    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Applied, SyncError> {
        sync::run(self, replace, source, sync::MergeMode::Commit).await
    }

    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
        export::run(self, sink).await
    }

    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError> {
        self.snapshot(move |db, unreadable| about(db, user, unreadable)).await
    }

    async fn forget(&self, user: UserId) -> Result<Applied, StoreError> {
        self.write(Access::All, move |write| {
            let tally = forget(write, user)?;
            write.applied(tally)
        })
        .await
    }
}

fn apply(write: &mut Write<'_>, mutation: Mutation) -> Result<Tally, WorkError> {
    match mutation {
        Mutation::Put(record) => records::put(write, record),
        Mutation::Remove(key) => records::remove(write, &key),
        Mutation::ReplaceTeam(roster) => replace_team(write, &roster),
        Mutation::Report(report) => clusters::put(write, &report),
        Mutation::RemoveSilent(silent) => clusters::forget_silent(write, &silent),
        Mutation::SignOff(cluster) => clusters::remove(write, &cluster),
        Mutation::Period(change) => change_period(write, &change),
    }
}

/// Replaces the team. Unchanged rows are not written.
fn replace_team(write: &mut Write<'_>, roster: &Roster) -> Result<Tally, WorkError> {
    let rows: Vec<_> = roster.as_slice().iter().map(TeamRow::of).collect();
    let kept: BTreeSet<_> = rows.iter().map(TeamRow::key).collect();
    let mut tally = Tally::NOTHING;
    for before in TeamRow::select(write.db, "", Vec::new())? {
        let key = before.key();
        if !kept.contains(&key) {
            tally += TeamRow::TABLE.delete(write.db, key)?;
        }
    }
    for row in rows {
        tally += row.put(write.db)?;
    }
    Ok(write.noted(tally, || Subject::Many(Kind::Team)))
}

/// Returns the number of open notices other than this one.
fn other_open_notices(db: &mut AnyConnection, id: &NoticeId) -> Result<i64, WorkError> {
    let others = notices::table.filter(notices::ends_at.is_null()).filter(notices::id.ne(id.as_str()));
    Ok(others.count().get_result(db)?)
}

/// Applies a change of the history. Extending a watched period is no change that others need to know of.
fn change_period(write: &mut Write<'_>, change: &PeriodChange) -> Result<Tally, WorkError> {
    let rest = "WHERE ended_at IS NULL OR alert_due IS NOT NULL OR subject = ?";
    let rows = PeriodRow::select(write.db, rest, vec![PeriodSubject::Watched.to_string().into()])?;
    let known: Vec<Period> = rows.into_iter().filter_map(|row| row.read(write.unreadable).ok()).collect();
    let columns = (cluster_columns::id, cluster_columns::received_at);
    let reports: Vec<(String, i64)> = cluster_columns::table.select(columns).load(write.db)?;
    let reports: BTreeMap<_, _> = reports
        .into_iter()
        .filter_map(|(id, received_at)| Some((id.parse().ok()?, Timestamp::from_micros(received_at))))
        .collect();
    let Some(period) = change.decide(&known, &reports) else { return Ok(Tally::NOTHING) };
    let tally = PeriodRow::of(&period).put(write.db)?;
    if tally == Tally::ADDED {
        trim_periods(write.db)?;
    } else if period.subject == PeriodSubject::Watched {
        return Ok(tally);
    }
    Ok(write.noted(tally, || Subject::Many(Kind::Period)))
}

/// Removes the oldest periods beyond the number to keep.
fn trim_periods(db: &mut AnyConnection) -> QueryResult<()> {
    let newest = periods::table.select(periods::began_at).order(periods::began_at.desc());
    let last_kept: Option<i64> = newest.offset(Period::KEPT as i64 - 1).first(db).optional()?;
    if let Some(last_kept) = last_kept {
        diesel::delete(periods::table.filter(periods::began_at.lt(last_kept))).execute(db)?;
    }
    Ok(())
}

/// Returns the records that name a user.
fn about(db: &mut AnyConnection, user: UserId, unreadable: &Unreadable) -> Result<Vec<Record>, WorkError> {
    let sessions = unreadable.all(&sessions::of_user(db, user)?);
    let mut records: Vec<_> = sessions.into_iter().map(Record::Session).collect();
    let column = || vec![user.column().into()];
    for key in [Key::Grant(user), Key::Staff(user), Key::Subscription(user)] {
        match records::find(db, &key, unreadable) {
            Err(WorkError::Row(_)) => {}
            found => records.extend(found?),
        }
    }
    let members = MemberRow::all(db, unreadable, "WHERE user_id = ?", column())?;
    records.extend(members.into_iter().map(Record::Member));
    let feedback = FeedbackRow::all(db, unreadable, "WHERE submitter_id = ?", column())?;
    records.extend(feedback.into_iter().map(Record::Feedback));
    let edits = SettingsEditRow::all(db, unreadable, "WHERE made_by = ? ORDER BY guild, revision", column())?;
    records.extend(edits.into_iter().map(Record::SettingsEdit));
    Ok(records)
}

/// Removes all records of a user, except a block and a place in the team, and their name in the history of settings.
fn forget(write: &mut Write<'_>, user: UserId) -> Result<Tally, WorkError> {
    let (_, mut tally) = sessions::end_all(write, user)?;
    for key in [Key::Grant(user), Key::Staff(user), Key::Subscription(user)] {
        tally += records::remove(write, &key)?;
    }
    tally += guilds::forget_roles(write, user)?;
    tally += feedback::forget(write, user)?;
    tally += settings::forget(write, user)?;
    Ok(tally)
}

#[async_trait]
impl BlockList for DieselStorage {
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        self.read(move |db, _| Ok(BlockedRow::stored(db, &Key::Blocked(user))?.is_some())).await
    }
}

#[async_trait]
impl BotTelemetry for DieselStorage {
    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError> {
        self.read(|db, unreadable| {
            let clusters = ClusterRow::all(db, unreadable, "", Vec::new())?;
            Ok(clusters.into_iter().map(Arc::new).collect())
        })
        .await
    }
}

#[async_trait]
impl StatusHistory for DieselStorage {
    async fn periods(&self) -> Result<Vec<Period>, StoreError> {
        self.read(|db, unreadable| Ok(PeriodRow::all(db, unreadable, "", Vec::new())?)).await
    }

    async fn notices(&self) -> Result<Vec<Notice>, StoreError> {
        self.read(|db, unreadable| Ok(NoticeRow::all(db, unreadable, "", Vec::new())?)).await
    }
}

#[async_trait]
impl FeedbackStore for DieselStorage {
    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError> {
        self.snapshot(move |db, unreadable| feedback::pick(db, count, seed, unreadable)).await
    }

    async fn positive_after(
        &self,
        after: Option<&FeedbackId>,
        most: NonZeroU32,
    ) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let after = after.cloned();
        self.snapshot(move |db, unreadable| feedback::positive_after(db, after.as_ref(), most, unreadable))
            .await
    }

    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError> {
        let key = Key::Feedback(id.clone());
        self.read(move |db, unreadable| Ok(FeedbackRow::find(db, &key, unreadable)?.map(Arc::new))).await
    }
}

#[async_trait]
impl GuildDirectory for DieselStorage {
    async fn with_roles(&self, user: UserId, asked: &[GuildId]) -> Result<Vec<GuildWithRoles>, StoreError> {
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let asked = asked.to_vec();
        self.snapshot(move |db, unreadable| guilds::with_roles(db, user, &asked, unreadable)).await
    }

    async fn totals(&self) -> Result<Option<GuildTotals>, StoreError> {
        self.read(|db, _| {
            let totals = "SELECT count(*), CAST(coalesce(sum(members), 0) AS BIGINT) FROM guilds";
            let (guilds, members): (i64, i64) = sql::<(BigInt, BigInt)>(totals).get_result(db)?;
            Ok(Some(GuildTotals { guilds: guilds.unsigned_abs(), members: members.unsigned_abs() }))
        })
        .await
    }
}

#[async_trait]
impl TeamRoster for DieselStorage {
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        self.read(move |db, unreadable| {
            // It is small.
            let mut rows = TeamRow::select(db, "", Vec::new())?;
            rows.sort_by_cached_key(|row| (row.user_id.cast_unsigned(), row.category.clone()));
            Ok(unreadable.all(&rows).into())
        })
        .await
    }
}
