//! Reads: a connection pool, and a bounded wait for a connection.

use crate::{connection::AnyConnection, database::Database, failure::WorkError, limits::Purpose};
use companion_domain::port::{Cause, StoreError};
use diesel::r2d2::R2D2Connection;
use r2d2::{ManageConnection, NopErrorHandler, Pool};
use std::{
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
    time::timeout,
};

/// Connection timeout of the pool. The pool retries an unreachable server after at most half of it.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
/// A connection is not tested on check-out if a read on it succeeded within this time. A failed read does not count:
/// while reads are frequent, a lost connection would be used forever.
const SKIP_TEST_WITHIN: Duration = Duration::from_millis(100);
/// Minimum time between two log entries about outages, in case connections flap.
const LOG_INTERVAL: Duration = Duration::from_secs(5);

/// Upper bound on the wait for a connection, even while other reads make progress.
const MAX_WAIT: Duration = Duration::from_secs(5);

pub(crate) struct Readers {
    pool: Pool<Manager>,
    /// One permit per connection, so that waiting for a connection blocks no thread.
    permits: Arc<Semaphore>,
    /// Number of successful reads.
    finished: Arc<AtomicU64>,
    database: Arc<Database>,
}

impl Readers {
    pub(crate) fn new(database: &Arc<Database>) -> Result<Self, Cause> {
        let limits = database.limits();
        let builder = Pool::builder()
            .max_size(limits.readers.get())
            .max_lifetime(None)
            .idle_timeout(None)
            .error_handler(Box::new(NopErrorHandler));
        let manager = Manager { database: Arc::clone(database), outage: Mutex::default() };
        let pool = match &**database {
            // A local file does not go away under an idle connection, so connections are neither tested nor renewed.
            Database::Sqlite(options) => {
                let builder = builder.test_on_check_out(false);
                builder.connection_timeout(options.limits.max_write_wait).build(manager)?
            }
            // A server may. It was reachable a moment ago, so the pool may fill while the service starts.
            Database::Postgres(_) => {
                builder.test_on_check_out(true).connection_timeout(CONNECT_TIMEOUT).build_unchecked(manager)
            }
        };
        let permits = Arc::new(Semaphore::new(limits.readers.get() as usize));
        Ok(Self { pool, permits, finished: Arc::default(), database: Arc::clone(database) })
    }

    /// Runs a read of one statement.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut AnyConnection) -> Result<T, WorkError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let max_wait = self.database.limits().max_read_wait;
        let permit = self.permit(max_wait).await?;
        let (pool, finished) = (self.pool.clone(), Arc::clone(&self.finished));
        let database = Arc::clone(&self.database);
        let reading = spawn_blocking(move || {
            // Declared before the connection, so it is released after it.
            let _permit = permit;
            let mut connection = pool.get_timeout(max_wait).map_err(StoreError::unavailable)?;
            let result = work(&mut connection.db).inspect_err(|failure| {
                connection.has_damage = database.note_failure(&failure.to_string());
            });
            let result = result.map_err(StoreError::from);
            if result.is_ok() {
                connection.worked = Instant::now();
                finished.fetch_add(1, Relaxed);
            }
            result
        });
        let read = match self.database.deadline() {
            None => reading.await,
            // The thread and its connection remain in use until the server releases them.
            Some(deadline) => match timeout(deadline, reading).await {
                Ok(read) => read,
                Err(_) => return Err(StoreError::unavailable("the database did not answer in time")),
            },
        };
        read.unwrap_or_else(|stopped| Err(StoreError::unavailable(stopped)))
    }

    /// Waits for a connection. During a burst, such as after a restart, every caller gets one in turn. Returns `Err` if
    /// no read finished within `max_wait`, or after [`MAX_WAIT`].
    async fn permit(&self, max_wait: Duration) -> Result<OwnedSemaphorePermit, StoreError> {
        let busy = || StoreError::unavailable("every read connection is busy");
        let begun = Instant::now();
        let mut waiting = pin!(Arc::clone(&self.permits).acquire_owned());
        loop {
            let finished = self.finished.load(Relaxed);
            match timeout(max_wait, &mut waiting).await {
                Ok(permit) => return permit.map_err(|_| busy()),
                Err(_) if self.finished.load(Relaxed) == finished || begun.elapsed() > MAX_WAIT => {
                    return Err(busy());
                }
                Err(_) => {}
            }
        }
    }

    /// Returns the number of connections, and how many of them are idle.
    pub(crate) fn counts(&self) -> (u32, u32) {
        let idle = u32::try_from(self.permits.available_permits()).unwrap_or(u32::MAX);
        (self.pool.state().connections, idle)
    }
}

struct Manager {
    database: Arc<Database>,
    outage: Mutex<Outage>,
}

struct PooledConnection {
    db: AnyConnection,
    /// The last time that a read succeeded, or the connection was opened.
    worked: Instant,
    /// Whether its cache may hold a damaged page. It would keep serving that page after the file is repaired.
    has_damage: bool,
}

/// The error type that the pool requires for a failed connection.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct ConnectError(Cause);

impl ManageConnection for Manager {
    type Connection = PooledConnection;
    type Error = ConnectError;

    fn connect(&self) -> Result<PooledConnection, ConnectError> {
        let connected = self.database.connect(Purpose::Read);
        self.outage.lock().unwrap_or_else(PoisonError::into_inner).note(&connected);
        Ok(PooledConnection {
            db: connected.map_err(ConnectError)?,
            worked: Instant::now(),
            has_damage: false,
        })
    }

    fn is_valid(&self, connection: &mut PooledConnection) -> Result<(), ConnectError> {
        if connection.worked.elapsed() < SKIP_TEST_WITHIN {
            return Ok(());
        }
        connection.db.ping().map_err(|error| ConnectError(error.into()))
    }

    fn has_broken(&self, connection: &mut PooledConnection) -> bool {
        connection.has_damage || connection.db.is_broken()
    }
}

/// Failures to connect. The first is logged; the others are counted until a connection succeeds.
#[derive(Default)]
struct Outage {
    failures: u64,
    /// Whether the start of the outage was logged and its end was not.
    is_logged: bool,
    last_logged: Option<Instant>,
}

impl Outage {
    fn note<T>(&mut self, connected: &Result<T, Cause>) {
        match connected {
            Ok(_) if self.is_logged => {
                tracing::info!(failures = self.failures, "connections to the database can be opened again");
                (self.is_logged, self.failures) = (false, 0);
            }
            Ok(_) => {}
            Err(error) => {
                self.failures += 1;
                if !self.is_logged && self.last_logged.is_none_or(|logged| logged.elapsed() >= LOG_INTERVAL) {
                    tracing::warn!(%error, "cannot open a connection to the database");
                    (self.is_logged, self.last_logged) = (true, Some(Instant::now()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::{SqliteOptions, connect::SqliteDatabase};
    use companion_testkit::api::captured_log::listening;

    #[test]
    fn logs_an_outage_once_and_its_end_with_the_failure_count() {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(folder.path().join("companion.db"));
        let database = Arc::new(Database::Sqlite(SqliteDatabase::new(options)));
        let manager = Manager { database: Arc::clone(&database), outage: Mutex::default() };
        let (lines, _guard) = listening();
        for _ in 0..7 {
            assert!(manager.connect().is_err());
        }
        database.migrate().unwrap();
        let open: Vec<_> = (0..3).map(|_| manager.connect().unwrap()).collect();
        let logged = lines.take();
        let logged: Vec<_> = logged.lines().collect();
        assert_eq!((open.len(), logged.len()), (3, 2), "{logged:?}");
        assert!(logged[0].contains("cannot open a connection to the database"), "{logged:?}");
        assert!(logged[1].ends_with("can be opened again failures=7"), "{logged:?}");
    }
}
