//! Reads: a pool of connections, and a short wait for one.

use crate::{connection::AnyConnection, error::Failure, sqlite::SqliteOptions};
use companion_domain::port::{Cause, StoreError};
use diesel::{Connection, r2d2::R2D2Connection};
use r2d2::{HandleError, ManageConnection, Pool};
use std::sync::Arc;
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

/// The connections that read.
pub(crate) struct Readers {
    pool: Pool<Manager>,
    /// One for each connection, so that waiting for one holds no thread.
    permits: Arc<Semaphore>,
    options: Arc<SqliteOptions>,
}

impl Readers {
    pub(crate) fn new(options: &Arc<SqliteOptions>) -> Result<Self, Cause> {
        let manager = Manager(Arc::clone(options));
        // A local file does not go away under an idle connection, so there is nothing to test and to renew.
        let pool = Pool::builder()
            .max_size(options.readers.get())
            .test_on_check_out(false)
            .max_lifetime(None)
            .idle_timeout(None)
            .connection_timeout(options.write_patience)
            .error_handler(Box::new(Report))
            .build(manager)?;
        Ok(Self {
            pool,
            permits: Arc::new(Semaphore::new(options.readers.get() as usize)),
            options: Arc::clone(options),
        })
    }

    /// Runs a read of one statement.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut AnyConnection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let patience = self.options.read_patience;
        let permit = timeout(patience, Arc::clone(&self.permits).acquire_owned()).await;
        let Ok(Ok(permit)) = permit else {
            return Err(StoreError::unavailable("every connection that reads is busy"));
        };
        let pool = self.pool.clone();
        let reading = spawn_blocking(move || {
            // Declared before the connection, so given back after it.
            let _permit = permit;
            let mut connection = pool.get_timeout(patience).map_err(StoreError::unavailable)?;
            work(&mut connection).map_err(StoreError::from)
        });
        reading.await.unwrap_or_else(|stopped| Err(StoreError::unavailable(stopped)))
    }

    /// Runs a read of several statements, which all see the same moment.
    pub(crate) async fn snapshot<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut AnyConnection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read(move |connection| connection.transaction(work)).await
    }

    /// Connections there are, and how many of them nobody uses.
    pub(crate) fn counts(&self) -> (u32, u32) {
        let idle = u32::try_from(self.permits.available_permits()).unwrap_or(u32::MAX);
        (self.pool.state().connections, idle)
    }
}

/// Opens connections for the pool.
struct Manager(Arc<SqliteOptions>);

/// What the pool is told when a connection cannot be made. It needs an error type of its own.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct NoConnection(Cause);

impl ManageConnection for Manager {
    type Connection = AnyConnection;
    type Error = NoConnection;

    fn connect(&self) -> Result<AnyConnection, NoConnection> {
        self.0.connect_reader().map_err(NoConnection)
    }

    fn is_valid(&self, connection: &mut AnyConnection) -> Result<(), NoConnection> {
        connection.ping().map_err(|error| NoConnection(error.into()))
    }

    fn has_broken(&self, connection: &mut AnyConnection) -> bool {
        connection.is_broken()
    }
}

/// Logs why the pool cannot open connections.
#[derive(Debug)]
struct Report;

impl HandleError<NoConnection> for Report {
    fn handle_error(&self, error: NoConnection) {
        tracing::warn!(%error, "cannot open a connection to the database");
    }
}
