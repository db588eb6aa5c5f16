//! A sync: records are staged as they arrive, and then merged in one transaction.
//!
//! Each sync stages into temporary tables of its own connection. It may be larger than memory, and neither a slow
//! sender nor a long staging blocks other writers. The connection is opened with the first batch, and the number of
//! syncs that hold one is limited. The merge first compares all rows in a snapshot, while others write. Once it holds
//! the write lock, it compares again only the rows that changed meanwhile, and writes only what differs.

mod plan;

use self::plan::Plan;
use crate::{
    connection::AnyConnection,
    failure::WorkError,
    limits::Purpose,
    storage::DieselStorage,
    table::{
        history::ChangeNumber,
        staging::{self, RecordBatch},
    },
    writer::{BulkWrite, DeferredCheckpoint, End},
};
use companion_domain::{
    change::{Applied, Kind, Tally},
    port::{Numbered, RecordSource, Replace, StoreError, SyncError},
};
use diesel::QueryResult;
use std::{collections::BTreeSet, sync::Arc};
use tokio::{
    sync::OwnedSemaphorePermit,
    task::{JoinHandle, spawn_blocking},
};

/// Number of records staged at once: enough to be fast, few enough to fit in memory.
const STAGED_AT_ONCE: usize = 1000;

/// Number of comparisons while others write. If they change too much each time, the last comparison runs while they
/// wait.
const MAX_COMPARISONS: u32 = 3;

/// Whether a merge is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeMode {
    Commit,
    /// Rolls back, and only returns what would change.
    DryRun,
}

impl DieselStorage {
    /// Returns what a sync of these records would change, without changing anything. The sync is run completely and
    /// rolled back. Writers wait for it as for a sync.
    pub async fn preview(
        &self,
        replace: &Replace,
        source: &mut dyn RecordSource,
    ) -> Result<Tally, SyncError> {
        Ok(run(self, replace, source, MergeMode::DryRun).await?.tally)
    }
}

/// Stages all records of the source, and merges them. Commits or rolls back according to `mode`. A merge that has
/// started completes, even if the caller stops waiting.
pub(crate) async fn run(
    storage: &DieselStorage,
    replace: &Replace,
    source: &mut dyn RecordSource,
    mode: MergeMode,
) -> Result<Applied, SyncError> {
    let workspace = stage(storage, source).await?;
    let (bulk, replace) = (storage.writer().bulk(), replace.clone());
    let merging = spawn_blocking(move || {
        let mut merging = Merging::new(workspace, replace, mode)?;
        let applied = merging.run(&bulk)?;
        Ok::<_, SyncError>((merging, applied))
    });
    let (mut merging, applied) = merging.await.map_err(StoreError::unavailable)??;
    drop(spawn_blocking(move || merging.make_checkpoint()));
    Ok(applied)
}

/// Stages all records of the source. The next records are read while the previous ones are staged.
async fn stage(storage: &DieselStorage, source: &mut dyn RecordSource) -> Result<Workspace, SyncError> {
    let (mut staging, mut pending) = (None, Vec::new());
    loop {
        let records = source.next().await.map_err(SyncError::Source)?;
        let is_last = records.is_none();
        pending.extend(records.into_iter().flatten());
        while is_last || pending.len() >= STAGED_AT_ONCE {
            let workspace = match staging.take() {
                Some(thread) => staged(thread).await?,
                None => Workspace::open(storage).await?,
            };
            let rest = pending.split_off(pending.len().min(STAGED_AT_ONCE));
            let thread = workspace.stage(std::mem::replace(&mut pending, rest));
            if is_last && pending.is_empty() {
                return Ok(staged(thread).await?);
            }
            staging = Some(thread);
        }
    }
}

/// Waits for a thread that stages records.
async fn staged(thread: JoinHandle<Result<Workspace, WorkError>>) -> Result<Workspace, StoreError> {
    Ok(thread.await.map_err(StoreError::unavailable)??)
}

/// A connection and its temporary tables. Dropping it, as any early end of a sync does, removes them.
struct Workspace {
    db: AnyConnection,
    kinds: BTreeSet<Kind>,
    /// Declared after the connection, so it is released after it.
    _permit: OwnedSemaphorePermit,
}

impl Workspace {
    /// Opens a connection, once the sync has a permit.
    async fn open(storage: &DieselStorage) -> Result<Self, StoreError> {
        let (database, permit) = (Arc::clone(storage.database()), storage.sync_permit().await?);
        let opening = spawn_blocking(move || {
            let db = database.connect(Purpose::Bulk).map_err(StoreError::unavailable)?;
            Ok(Self { db, kinds: BTreeSet::new(), _permit: permit })
        });
        opening.await.map_err(StoreError::unavailable)?
    }

    /// Stages these records on a blocking thread.
    fn stage(mut self, records: Vec<Numbered>) -> JoinHandle<Result<Self, WorkError>> {
        spawn_blocking(move || {
            let batch = RecordBatch::of(records);
            self.make_tables(batch.kinds())?;
            batch.stage(&mut self.db)?;
            Ok(self)
        })
    }

    fn make_tables(&mut self, mut kinds: BTreeSet<Kind>) -> QueryResult<()> {
        if kinds.iter().any(|kind| kind.is_of_guild()) {
            // Whether the guild of a record is known also depends on the staged guilds.
            kinds.insert(Kind::Guild);
        }
        for kind in kinds.difference(&self.kinds.clone()) {
            staging::create(*kind, &mut self.db)?;
            self.kinds.insert(*kind);
        }
        Ok(())
    }
}

/// A staged sync and its plan. Its methods block the thread.
struct Merging {
    workspace: Workspace,
    plan: Plan,
    mode: MergeMode,
    /// Set after a write: the checkpoint that is still due.
    checkpoint: Option<DeferredCheckpoint>,
}

impl Merging {
    /// Plans the merge, once all records are staged.
    fn new(mut workspace: Workspace, replace: Replace, mode: MergeMode) -> Result<Self, WorkError> {
        let plan = Plan::new(&workspace.kinds, &replace);
        workspace.make_tables(replace.kinds)?;
        let tables = workspace.kinds.iter().flat_map(|kind| staging::staged_tables(*kind));
        staging::analyse(&mut workspace.db, &tables.map(str::to_owned).collect::<Vec<_>>())?;
        Ok(Self { workspace, plan, mode, checkpoint: None })
    }

    /// Compares the staged rows while others write, then writes the differing ones under the write lock.
    fn run(&mut self, bulk: &BulkWrite) -> Result<Applied, SyncError> {
        let mut attempt = 1;
        loop {
            let Some(change) = self.compare()? else { return Ok(Applied::default()) };
            if let Some(applied) = self.write(bulk, change, attempt == MAX_COMPARISONS)? {
                return Ok(applied);
            }
            attempt += 1;
        }
    }

    /// Compares staged rows with a snapshot of the stored ones, and prepares the differing ones for writing. Blocks no
    /// writer. Returns the change as of which they differ, or `None` if they are equal.
    fn compare(&mut self) -> Result<Option<ChangeNumber>, WorkError> {
        let (db, plan) = (&mut self.workspace.db, &self.plan);
        let differing = db.snapshot(|db| plan.compare(db))?;
        staging::analyse(db, &plan.differing())?;
        if differing.is_some() {
            plan.touch(db)?;
        }
        Ok(differing)
    }

    /// Writes the differing rows once it holds the write lock. Returns `None` if too much changed since the comparison;
    /// then nothing was written.
    fn write(
        &mut self,
        bulk: &BulkWrite,
        change: ChangeNumber,
        last: bool,
    ) -> Result<Option<Applied>, SyncError> {
        let (db, plan, mode) = (&mut self.workspace.db, &self.plan, self.mode);
        let _turn = bulk.turn()?;
        self.checkpoint = Some(bulk.defer_checkpoint());
        bulk.transaction(db, plan.access(), |write| {
            let merged = plan.merge(write, change, last)?;
            let commits = merged.is_some() && mode == MergeMode::Commit;
            Ok(if commits { End::Commit(merged) } else { End::RollBack(merged) })
        })
    }

    /// Runs the checkpoint that is due, if any.
    fn make_checkpoint(&mut self) {
        if let Some(checkpoint) = self.checkpoint.take() {
            checkpoint.make(&mut self.workspace.db);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MergeMode, Merging, stage};
    use crate::storage::DieselStorage;
    use companion_domain::{
        change::{Key, Kind, Tally},
        model::{FeedbackId, Guild, Roster, StaffPermission, TeamMember, UserId},
        port::{
            ApplyError, FeedbackStore, ListingScope, Listings, Mutation, Record, Records, Replace,
            ShardSlice, SyncError,
        },
    };
    use companion_testkit::{
        conformance::stream::{Collected, Stream},
        entropy::SeededEntropy,
        world::{
            a_feedback, a_guild, a_member, a_subscription, a_team_member, a_user, guild_id, name, user_id,
        },
    };
    use std::collections::BTreeSet;
    use tokio::task::block_in_place;

    /// A concurrent write.
    #[derive(Debug, Clone)]
    enum Other {
        Write(Mutation),
        Forget(UserId),
    }

    /// Draws small numbers, so that records collide often.
    struct Chance(SeededEntropy);

    impl Chance {
        fn below(&self, bound: u64) -> u64 {
            self.0.below(bound)
        }

        fn number(&self) -> u64 {
            self.below(6) + 1
        }

        fn guild(&self) -> Record {
            let title = name(&format!("Name {}", self.below(2)));
            Record::Guild(Guild { name: title, ..a_guild(self.number() << 22) })
        }

        fn record(&self) -> Record {
            match self.below(8) {
                0 | 1 => self.guild(),
                2 | 3 => Record::Member(a_member(self.number() << 22, self.number(), &[self.below(2) + 1])),
                4 => Record::Subscription(a_subscription(self.number(), &[self.number(), 8])),
                5 => {
                    let grant = StaffPermission::ALL[usize::try_from(self.below(2)).unwrap()];
                    Record::Staff(user_id(self.number()), [grant].into_iter().collect())
                }
                6 => Record::Blocked(user_id(self.number())),
                _ => Record::Feedback(self.feedback()),
            }
        }

        fn feedback(&self) -> companion_domain::model::Feedback {
            let mut entry =
                a_feedback(&format!("f{}", self.number()), i64::try_from(self.below(5) + 1).unwrap());
            entry.submitter = a_user(self.number());
            entry
        }

        fn team(&self) -> Vec<TeamMember> {
            let place = |user| a_team_member(user, "Core", i32::try_from(self.below(2)).unwrap());
            (1..=self.below(4)).map(place).collect()
        }

        /// Draws records, mostly with the guild of each member.
        fn records(&self) -> Vec<Record> {
            let mut records: Vec<_> = (0..self.below(12)).map(|_| self.record()).collect();
            if self.below(4) > 0 {
                let guilds: Vec<_> = records.iter().filter_map(guild_of).collect();
                records.extend(guilds.into_iter().map(|guild| Record::Guild(a_guild(guild.get()))));
            }
            records.extend(self.team().into_iter().map(Record::Team));
            records
        }

        fn replace(&self) -> Replace {
            let kinds = [
                Kind::Guild,
                Kind::Member,
                Kind::Subscription,
                Kind::Staff,
                Kind::Blocked,
                Kind::Feedback,
                Kind::Team,
                Kind::Outline,
            ];
            let kinds = kinds.into_iter().filter(|_| self.below(2) == 0).collect();
            let shard = if self.below(3) == 0 { ShardSlice::new(0, 2) } else { None };
            Replace { kinds, shard }
        }

        fn other(&self) -> Other {
            let (guild, user) = (|| guild_id(self.number() << 22), || user_id(self.number()));
            Other::Write(Mutation::Remove(match self.below(14) {
                0 | 1 => Key::Guild(guild()),
                2 => Key::Member(guild(), user()),
                3 => Key::Subscription(user()),
                4 => Key::Staff(user()),
                5 => Key::Feedback(self.feedback().id),
                6 => Key::Blocked(user()),
                7 => return Other::Write(Mutation::ReplaceTeam(Roster::new(self.team()).unwrap())),
                8 => return Other::Forget(user()),
                _ => return Other::Write(Mutation::Put(self.record())),
            }))
        }
    }

    fn guild_of(record: &Record) -> Option<companion_domain::model::GuildId> {
        if let Record::Member(member) = record { Some(member.guild) } else { None }
    }

    async fn write(storage: &DieselStorage, other: Other) {
        match other {
            Other::Write(mutation) => match storage.apply(vec![mutation]).await {
                Ok(_) | Err(ApplyError::UnknownGuild(_)) => {}
                Err(error) => panic!("{error:?}"),
            },
            Other::Forget(user) => drop(storage.forget(user).await.unwrap()),
        }
    }

    async fn sync(
        storage: &DieselStorage,
        replace: &Replace,
        records: &[Record],
    ) -> Result<Tally, SyncError> {
        storage.sync(replace, &mut Stream::of(records.to_vec())).await.map(|applied| applied.tally)
    }

    /// Returns a sync that is about to be compared.
    async fn staged(storage: &DieselStorage, replace: &Replace, records: &[Record]) -> Merging {
        let workspace = stage(storage, &mut Stream::of(records.to_vec())).await.unwrap();
        Merging::new(workspace, replace.clone(), MergeMode::Commit).unwrap()
    }

    /// Runs a sync, and `others` between its comparison and its merge. Returns whether the sync took effect after them.
    async fn raced(
        storage: &DieselStorage,
        replace: &Replace,
        records: &[Record],
        others: &[Other],
        last: bool,
    ) -> (Result<Option<Tally>, SyncError>, bool) {
        let mut merging = staged(storage, replace, records).await;
        let compared = merging.compare();
        for other in others {
            write(storage, other.clone()).await;
        }
        let revision = match compared {
            Ok(None) => return (Ok(Some(Tally::NOTHING)), false),
            Ok(Some(revision)) => revision,
            Err(unknown) => return (Err(unknown.into()), false),
        };
        let merged = block_in_place(|| merging.write(&storage.writer().bulk(), revision, last));
        (merged.map(|applied| applied.map(|applied| applied.tally)), true)
    }

    /// Everything that is stored, including the feedback entries that can be picked and the subscribers of guilds.
    async fn contents(storage: &DieselStorage) -> (Vec<Record>, Vec<FeedbackId>, BTreeSet<UserId>) {
        let mut kept = Collected::default();
        storage.export(&mut kept).await.unwrap();
        let picked = storage.pick_positive(1000, SeededEntropy::new(1).seed()).await.unwrap();
        let mut picked: Vec<_> = picked.iter().map(|entry| entry.id.clone()).collect();
        picked.sort();
        let mut subscribers = BTreeSet::new();
        for guild in (1..=8).map(guild_id) {
            let listing = Listings::read(storage, user_id(1), ListingScope::Guild(guild)).await.unwrap();
            subscribers.extend(listing.guild_subscriptions.iter().map(|subscription| subscription.user));
        }
        (kept.0, picked, subscribers)
    }

    /// Races this many syncs, each with concurrent writes, against a reference without concurrency.
    async fn rounds(one: &DieselStorage, reference: &DieselStorage, rounds: usize) {
        let (mut after, mut refused) = (0, 0);
        let drawn = (0..).map(|round| {
            let chance = Chance(SeededEntropy::new(round));
            let (replace, records) = (chance.replace(), chance.records());
            let others: Vec<_> = (0..chance.below(6)).map(|_| chance.other()).collect();
            (round, replace, records, others, chance.below(2) == 0)
        });
        let racing = drawn.filter(|(_, _, records, others, _)| records.len() > 3 && others.len() > 1);
        for (round, replace, records, others, last) in racing.take(rounds) {
            let (raced, came_after) = raced(one, &replace, &records, &others, last).await;
            let told = format!("round {round}: {replace:?} {records:?} {others:?}");
            let mut synced = None;
            if !came_after {
                synced = Some(sync(reference, &replace, &records).await);
            }
            for other in others {
                write(reference, other).await;
            }
            let expected = match synced {
                Some(synced) => synced,
                None => sync(reference, &replace, &records).await,
            };
            match (raced, expected) {
                (Ok(tally), Ok(expected)) => assert_eq!(tally, Some(expected), "{told}"),
                (Err(error), Err(expected)) => {
                    assert_eq!(error.to_string(), expected.to_string(), "{told}");
                    refused += 1;
                }
                (raced, expected) => panic!("{raced:?} instead of {expected:?}, {told}"),
            }
            after += u32::from(came_after);
            assert_eq!(contents(one).await, contents(reference).await, "{told}");
        }
        assert!(after > 0 && refused > 0, "{after} came after others, {refused} were refused");
    }

    /// Concurrent writes that change too many rows to compare them one by one.
    async fn many_concurrent_changes(storage: &DieselStorage) {
        let before: Vec<_> = (1..=300).map(|number| Record::Guild(a_guild(number << 22))).collect();
        sync(storage, &Replace::default(), &before).await.unwrap();
        let renamed: Vec<_> = (1..=300)
            .map(|number| Record::Guild(Guild { name: name("Renamed"), ..a_guild(number << 22) }))
            .collect();
        let replace = Replace { kinds: [Kind::Guild].into(), shard: None };
        let others: Vec<_> = (1..=250)
            .map(|number| Other::Write(Mutation::Remove(Key::Guild(guild_id(number << 22)))))
            .collect();
        let (raced_once, _) = raced(storage, &replace, &renamed, &others, false).await;
        assert_eq!(raced_once.unwrap(), None, "it has to compare again");
        let others: Vec<_> = (51..=300)
            .map(|number| Other::Write(Mutation::Remove(Key::Guild(guild_id(number << 22)))))
            .collect();
        let (raced_at_last, _) = raced(storage, &replace, &renamed, &others, true).await;
        assert_eq!(raced_at_last.unwrap(), Some(Tally { added: 300, ..Tally::NOTHING }));
    }

    mod sqlite {
        use super::*;
        use crate::sqlite::SqliteOptions;

        async fn open(folder: &tempfile::TempDir, name: &str) -> DieselStorage {
            DieselStorage::open(SqliteOptions::new(folder.path().join(name))).await.unwrap()
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn a_raced_sync_equals_one_that_ran_after_the_other_writes() {
            let folder = tempfile::tempdir().unwrap();
            rounds(&open(&folder, "one.db").await, &open(&folder, "reference.db").await, 25).await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn a_sync_raced_by_many_writes_compares_again_then_under_lock() {
            let folder = tempfile::tempdir().unwrap();
            many_concurrent_changes(&open(&folder, "one.db").await).await;
        }
    }

    mod postgres {
        use super::*;
        use crate::postgres::scratch::Scratch;
        use diesel::{RunQueryDsl, connection::SimpleConnection, dsl::sql, sql_types::BigInt};

        async fn open(schema: &Scratch) -> DieselStorage {
            DieselStorage::open_postgres(schema.options()).await.unwrap()
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn locks_differing_rows_before_the_merge_without_waiting() {
            let schema = Scratch::new("race_touch");
            let storage = open(&schema).await;
            let guilds = |title: &str| -> Vec<_> {
                (1..=3).map(|number| Record::Guild(Guild { name: name(title), ..a_guild(number) })).collect()
            };
            sync(&storage, &Replace::default(), &guilds("Old")).await.unwrap();
            let mut other = schema.connect();
            other.batch_execute("BEGIN; DELETE FROM guilds WHERE id = 1").unwrap();
            let mut merging = staged(&storage, &Replace::default(), &guilds("New")).await;
            let revision = merging.compare().unwrap().unwrap();
            let touched: i64 =
                sql::<BigInt>("SELECT count(*) FROM guilds WHERE id > 1 AND xmax::text <> '0'")
                    .get_result(&mut other)
                    .unwrap();
            assert_eq!(touched, 2);
            other.batch_execute("ROLLBACK").unwrap();
            let merged = block_in_place(|| merging.write(&storage.writer().bulk(), revision, false));
            assert_eq!(merged.unwrap().unwrap().tally.changed, 3);
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn a_raced_sync_equals_one_that_ran_after_the_other_writes() {
            // SQLite runs more rounds; this covers the few statements that differ.
            let (one, reference) = (Scratch::new("race_one"), Scratch::new("race_reference"));
            rounds(&open(&one).await, &open(&reference).await, 6).await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn a_sync_raced_by_many_writes_compares_again_then_under_lock() {
            let schema = Scratch::new("race_upheaval");
            many_concurrent_changes(&open(&schema).await).await;
        }
    }
}
