//! The storage: its readers, its writer, and its lifecycle from opening to closing.

use crate::{
    connection::{Access, AnyConnection},
    database::Database,
    error::{BackupError, OpenError},
    failure::WorkError,
    inspection::newest_sealed,
    postgres::{PostgresOptions, notification::Listener},
    reader::Readers,
    sqlite::{SqliteOptions, connect::SqliteDatabase},
    table::{history::Write, unreadable::Unreadable},
    writer::Writer,
};
use companion_domain::{
    model::UserId,
    port::{Sealed, StoreError},
    request::{Part, note},
};
use std::{
    path::PathBuf,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Instant,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
    time::timeout,
};

/// The migration that only a new database lacks.
const FIRST_STEP: &str = "0001_history";

/// Implements every storage port over a database. Clones share their state.
#[derive(Clone)]
pub struct DieselStorage {
    inner: Arc<Inner>,
}

struct Inner {
    database: Arc<Database>,
    readers: Readers,
    writer: Writer,
    /// Limits the number of syncs that hold a connection.
    sync_permits: Arc<Semaphore>,
    unreadable: Arc<Unreadable>,
    /// Receives notifications about changes of other nodes. `None` for SQLite.
    _listener: Option<Listener>,
}

impl DieselStorage {
    /// Opens a SQLite file and applies pending migrations. Creates the file if it is missing and the options allow it.
    pub async fn open(options: SqliteOptions) -> Result<Self, OpenError> {
        Self::open_database(Database::Sqlite(SqliteDatabase::new(options))).await
    }

    /// Opens a database on a PostgreSQL server and applies pending migrations.
    pub async fn open_postgres(options: PostgresOptions) -> Result<Self, OpenError> {
        Self::open_database(Database::Postgres(options)).await
    }

    async fn open_database(database: Database) -> Result<Self, OpenError> {
        let database = Arc::new(database);
        let opening = spawn_blocking({
            let database = Arc::clone(&database);
            move || Self::open_blocking(database)
        });
        opening.await.unwrap_or_else(|stopped| Err(database.open_error(stopped)))
    }

    fn open_blocking(database: Arc<Database>) -> Result<Self, OpenError> {
        let steps = database.migrate()?;
        match steps.first().map(String::as_str) {
            None => {}
            // An operator who creates a database knows that it is up to date.
            Some(FIRST_STEP) => tracing::debug!("created the tables of a new database"),
            Some(_) => tracing::info!(steps = steps.join(", "), "migrated the database"),
        }
        let fail = |cause| database.open_error(cause);
        let readers = Readers::new(&database).map_err(fail)?;
        let unreadable = Arc::default();
        let writer = Writer::start(&database, &unreadable).map_err(fail)?;
        let inner = Inner {
            _listener: match &*database {
                Database::Sqlite(_) => None,
                Database::Postgres(options) => {
                    Some(Listener::start(options.clone(), writer.status().latest.clone()).map_err(fail)?)
                }
            },
            readers,
            writer,
            sync_permits: Arc::new(Semaphore::new(database.limits().syncs.get())),
            unreadable,
            database,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Writes a consistent copy of a SQLite database to a file that must not exist yet. Reads and writes continue
    /// meanwhile.
    pub async fn backup(&self, target: impl Into<PathBuf>) -> Result<(), BackupError> {
        let (database, target) = (Arc::clone(&self.inner.database), target.into());
        let copying = spawn_blocking(move || match &*database {
            Database::Sqlite(options) => options.backup(&target),
            Database::Postgres(_) => Err(BackupError::OnServer),
        });
        copying.await.unwrap_or_else(|stopped| Err(StoreError::unavailable(stopped).into()))
    }

    /// Completes queued writes and rejects later ones. Afterwards a SQLite file is complete without its write-ahead
    /// log.
    pub async fn close(&self) {
        let closing = self.inner.writer.close();
        match self.inner.database.deadline() {
            None => closing.await,
            // An unresponsive server must not prevent shutdown.
            Some(deadline) => timeout(deadline, closing).await.unwrap_or_default(),
        }
    }

    /// Returns load and activity figures.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let status = self.inner.writer.status();
        let (queue_length, queue_capacity) = self.inner.writer.waiting();
        let (readers, readers_idle) = self.inner.readers.counts();
        Statistics {
            commits: status.commits.load(Relaxed),
            writes: status.writes.load(Relaxed),
            failed_commits: status.failed_commits.load(Relaxed),
            refused_writes: status.refused_writes.load(Relaxed),
            queue_length,
            queue_capacity,
            has_given_up: status.has_given_up.load(Relaxed) || self.inner.database.has_lost_file(),
            readers,
            readers_idle,
        }
    }

    /// Returns how often an unreadable row of each table was skipped.
    #[must_use]
    pub fn unreadable_rows(&self) -> Vec<(&'static str, u64)> {
        self.inner.unreadable.counts()
    }

    /// Returns the sealed tokens of the users who signed in last, to verify a key with.
    pub async fn newest_sealed(&self) -> Result<Vec<(UserId, Sealed)>, StoreError> {
        self.read(|db, _| Ok(newest_sealed(db)?)).await
    }

    /// Runs a read of one statement.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut AnyConnection, &Unreadable) -> Result<T, WorkError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let unreadable = self.unreadable();
        timed(self.inner.readers.read(move |db| work(db, &unreadable))).await
    }

    /// Runs a read of several statements on one snapshot.
    pub(crate) async fn snapshot<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut AnyConnection, &Unreadable) -> Result<T, WorkError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read(|db, unreadable| db.snapshot(|db| work(db, unreadable))).await
    }

    /// Runs a write, and returns once it is durable.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        access: Access,
        work: impl FnOnce(&mut Write<'_>) -> Result<T, WorkError> + Send + 'static,
    ) -> Result<T, StoreError> {
        timed(async {
            let (writer, database) = (&self.inner.writer, &self.inner.database);
            let mut answer = writer.submit(access, work)?;
            if let Ok(answered) = timeout(database.limits().max_write_wait, answer.wait()).await {
                return answered;
            }
            if answer.withdraw() {
                writer.status().refused_writes.fetch_add(1, Relaxed);
                writer.replace_silent_thread(access);
                return Err(StoreError::unavailable("nothing was written: the write timed out in the queue"));
            }
            let Some(deadline) = database.deadline() else {
                return answer.wait().await;
            };
            timeout(deadline, answer.wait()).await.unwrap_or_else(|_| {
                writer.replace_silent_thread(access);
                Err(StoreError::unavailable(
                    "the database did not answer in time; it may have written or not",
                ))
            })
        })
        .await
    }

    pub(crate) fn writer(&self) -> &Writer {
        &self.inner.writer
    }

    /// Waits for the permit that lets a sync open its own connection.
    pub(crate) async fn sync_permit(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        let permit = Arc::clone(&self.inner.sync_permits).acquire_owned();
        match timeout(self.inner.database.limits().max_sync_wait, permit).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(StoreError::unavailable("too many syncs are in progress")),
        }
    }

    pub(crate) fn unreadable(&self) -> Arc<Unreadable> {
        Arc::clone(&self.inner.unreadable)
    }

    pub(crate) fn database(&self) -> &Arc<Database> {
        &self.inner.database
    }
}

/// Load and activity of the storage since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistics {
    /// Transactions committed by the writer.
    pub commits: u64,
    /// Writes in those transactions. Concurrent writes share a commit.
    pub writes: u64,
    /// Transactions that failed to commit, with all their writes.
    pub failed_commits: u64,
    /// Writes rejected because the queue was full or their wait timed out.
    pub refused_writes: u64,
    /// Writes in the queue.
    pub queue_length: usize,
    /// Capacity of the queue.
    pub queue_capacity: usize,
    /// Whether the writer rejects all writes until a restart, because a commit did not reach the disk or the file is no
    /// longer at its path.
    pub has_given_up: bool,
    /// Connections of the read pool.
    pub readers: u32,
    /// Idle connections of the read pool.
    pub readers_idle: u32,
}

/// Runs work and adds its duration to the storage time of the current request.
async fn timed<T>(work: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let done = work.await;
    note(Part::Storage, began.elapsed());
    done
}

impl std::fmt::Debug for DieselStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DieselStorage").field("database", &self.inner.database).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{limits::Limits, table::records};
    use companion_domain::{
        change::Subject,
        model::{Guild, MemberCount},
        port::{ApplyError, BlockList, ChangeFeed, Health, Record, Records, SessionStore, StoreErrorKind},
        request::{RequestContext, carried},
    };
    use companion_testkit::world::{a_guild, user_id};
    use diesel::connection::{Connection, InstrumentationEvent};
    use std::{
        fs, mem,
        num::NonZeroU32,
        sync::{
            Mutex,
            mpsc::{self, Sender},
        },
        time::Duration,
    };
    use tempfile::TempDir;

    async fn open(change: impl FnOnce(&mut Limits)) -> (TempDir, DieselStorage) {
        let folder = tempfile::tempdir().unwrap();
        let mut options = SqliteOptions::new(folder.path().join("companion.db"));
        change(&mut options.limits);
        let storage = DieselStorage::open(options).await.unwrap();
        (folder, storage)
    }

    /// Begins a read that ends when the sender is dropped.
    fn begin_read(storage: &DieselStorage) -> (Sender<()>, tokio::task::JoinHandle<Result<(), StoreError>>) {
        let (release, held) = mpsc::channel();
        let work = move |_: &mut _, _: &_| {
            let _ = held.recv();
            Ok(())
        };
        let storage = storage.clone();
        (release, tokio::spawn(async move { storage.read(work).await }))
    }

    #[tokio::test]
    async fn adds_storage_time_to_the_request() {
        let (_folder, storage) = open(|_| {}).await;
        let read = RequestContext::new("reads");
        read.within(|| carried(storage.is_blocked(user_id(1)))).await.unwrap();
        let write = RequestContext::new("writes");
        write.within(|| carried(storage.put(Record::Blocked(user_id(1))))).await.unwrap();
        for request in [read, write] {
            assert!(request.spent(Part::Storage) > Duration::ZERO, "{request:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn rejects_a_write_that_timed_out_in_the_queue_without_writing() {
        let (_folder, storage) = open(|limits| limits.max_write_wait = Duration::from_millis(300)).await;
        let turn = tokio::task::block_in_place(|| storage.writer().bulk().turn()).unwrap();
        let Err(ApplyError::Store(refused)) = storage.put(Record::Blocked(user_id(1))).await else {
            panic!()
        };
        assert_eq!(refused.kind, StoreErrorKind::Unavailable);
        assert!(refused.cause.to_string().contains("nothing was written"), "{}", refused.cause);
        assert_eq!(storage.statistics().refused_writes, 1);
        // A busy storage is still healthy.
        storage.check().await.unwrap();
        drop(turn);
        // The rejected write would have run before this one, however long this one takes.
        while storage.put(Record::Blocked(user_id(2))).await.is_err() {}
        assert!(!storage.is_blocked(user_id(1)).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_of_reads_longer_than_the_maximum_wait_is_served() {
        let max_wait = Duration::from_millis(500);
        let one_reader = |limits: &mut Limits| {
            (limits.readers, limits.max_read_wait) = (NonZeroU32::MIN, max_wait);
        };
        let (_folder, storage) = open(one_reader).await;
        let reads: Vec<_> = (0..50).map(|_| begin_read(&storage)).collect();
        // Each read takes half of `max_wait`, so the last one waits 25 times `max_wait`.
        for (release, read) in reads {
            tokio::time::advance(max_wait / 2).await;
            drop(release);
            read.await.unwrap().unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn rejects_a_read_in_time_if_every_connection_is_busy() {
        let (_folder, storage) = open(|limits| limits.readers = NonZeroU32::MIN).await;
        let (release, occupied) = begin_read(&storage);
        while storage.statistics().readers_idle > 0 {
            tokio::task::yield_now().await;
        }
        let asked = Instant::now();
        let refused = storage.of_user(user_id(1)).await;
        let waited = asked.elapsed();
        assert_eq!(refused.unwrap_err().kind, StoreErrorKind::Unavailable);
        assert!(waited >= Duration::from_millis(200) && waited < Duration::from_secs(4), "{waited:?}");
        drop(release);
        occupied.await.unwrap().unwrap();
        storage.of_user(user_id(1)).await.unwrap();
    }

    #[tokio::test]
    async fn a_panicking_write_or_read_fails_alone() {
        // Printing a panic takes a while.
        let (_folder, storage) = open(|limits| limits.max_write_wait = Duration::from_secs(60)).await;
        let panicking = storage.write::<()>(Access::All, |write| {
            write.record(&Subject::Blocked(user_id(1)))?;
            panic!("on purpose");
        });
        let (failed, blocked) = tokio::join!(panicking, storage.put(Record::Blocked(user_id(1))));
        assert_eq!(failed.unwrap_err().kind, StoreErrorKind::Corrupt);
        blocked.unwrap();
        assert_eq!(storage.latest().await.unwrap().0, 1);
        let failed = storage.snapshot::<()>(|_, _| panic!("on purpose")).await;
        assert_eq!(failed.unwrap_err().kind, StoreErrorKind::Unavailable);
        assert!(storage.is_blocked(user_id(1)).await.unwrap());
    }

    /// Makes the writer drop its connection.
    async fn break_writer(storage: &DieselStorage) {
        let breaking = storage.write(Access::All, |write| {
            write.db.roll_back()?;
            Ok(write.db.roll_back()?)
        });
        assert_eq!(breaking.await.unwrap_err().kind, StoreErrorKind::Unavailable);
    }

    #[tokio::test]
    async fn a_reconnected_writer_uses_the_same_files() {
        let (_folder, storage) = open(|_| {}).await;
        break_writer(&storage).await;
        storage.put(Record::Blocked(user_id(1))).await.unwrap();
        assert!(!storage.statistics().has_given_up);
    }

    #[tokio::test]
    async fn a_writer_that_must_reconnect_notices_a_lost_file() {
        let (folder, storage) = open(|_| {}).await;
        break_writer(&storage).await;
        let [file, aside] = ["companion.db", "aside"].map(|name| folder.path().join(name));
        fs::rename(&file, &aside).unwrap();
        storage.put(Record::Blocked(user_id(1))).await.unwrap_err();
        fs::rename(&aside, &file).unwrap();
        storage.put(Record::Blocked(user_id(1))).await.unwrap_err();
        assert!(storage.statistics().has_given_up);
    }

    #[tokio::test]
    async fn a_repeated_guild_update_prepares_no_statement() {
        let (_folder, storage) = open(|_| {}).await;
        let put = |members: u64| {
            let guild = Guild { members: MemberCount::new(members).unwrap(), ..a_guild(1) };
            storage.write(Access::All, move |write| records::put(write, Record::Guild(guild)))
        };
        // The statements that were run, and those that were prepared.
        let statements: Arc<Mutex<(Vec<String>, Vec<String>)>> = Arc::default();
        let heard = Arc::clone(&statements);
        let listen = move |event: InstrumentationEvent<'_>| match event {
            InstrumentationEvent::StartQuery { query, .. } => heard.lock().unwrap().0.push(query.to_string()),
            InstrumentationEvent::CacheQuery { sql, .. } => heard.lock().unwrap().1.push(sql.to_owned()),
            _ => {}
        };
        let begin = move |write: &mut Write<'_>| {
            write.db.set_instrumentation(listen);
            Ok(())
        };
        storage.write(Access::All, begin).await.unwrap();
        for members in 1..=2 {
            put(members).await.unwrap();
        }
        let (_, prepared) = mem::take(&mut *statements.lock().unwrap());
        put(3).await.unwrap();
        let (run, prepared_again) = mem::take(&mut *statements.lock().unwrap());
        assert!(prepared_again.is_empty(), "{prepared_again:?}");
        // Diesel runs an empty statement when it notes a transaction.
        let run: Vec<_> = run.iter().filter(|text| !text.is_empty()).collect();
        // The first was prepared before the test listened. A write that is alone needs no savepoint.
        assert_eq!(run.len(), 5, "{run:?}");
        assert_eq!(run[0], "BEGIN IMMEDIATE -- binds: []");
        for text in &run[1..] {
            assert!(prepared.iter().any(|prepared| text.starts_with(prepared)), "{text} is parsed each time");
        }
    }
}
