//! The storage: its readers, its writer, and its life from opening to closing.

use crate::{
    connection::AnyConnection,
    error::{BackupError, Failure, OpenError},
    reader::Readers,
    sqlite::{SqliteOptions, fault::open_error},
    statistics::Statistics,
    writer::{Write, Writer},
};
use companion_domain::port::StoreError;
use std::{
    path::PathBuf,
    sync::{Arc, atomic::Ordering::Relaxed},
};
use tokio::task::spawn_blocking;

/// Every storage port over a database. Clones share what they hold.
#[derive(Clone)]
pub struct DieselStorage {
    inner: Arc<Inner>,
}

struct Inner {
    options: Arc<SqliteOptions>,
    readers: Readers,
    writer: Writer,
}

impl DieselStorage {
    /// Opens the database, after creating it where there is none and bringing its schema up to date.
    pub async fn open(options: SqliteOptions) -> Result<Self, OpenError> {
        let path = options.path.clone();
        spawn_blocking(move || Self::open_blocking(options))
            .await
            .unwrap_or_else(|stopped| Err(open_error(&path, stopped)))
    }

    fn open_blocking(options: SqliteOptions) -> Result<Self, OpenError> {
        for step in options.migrate()? {
            tracing::info!(step, "migrated the database");
        }
        let options = Arc::new(options);
        let fail = |cause| open_error(&options.path, cause);
        let inner = Inner {
            readers: Readers::new(&options).map_err(fail)?,
            writer: Writer::start(&options).map_err(fail)?,
            options,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Writes a copy of the database as of one moment to a file that must not exist yet. Reads and writes go on.
    pub async fn backup(&self, target: impl Into<PathBuf>) -> Result<(), BackupError> {
        let (options, target) = (Arc::clone(&self.inner.options), target.into());
        spawn_blocking(move || options.backup(&target))
            .await
            .unwrap_or_else(|stopped| Err(StoreError::unavailable(stopped).into()))
    }

    /// Finishes the writes that are waiting, and refuses later ones. The file is whole by itself then.
    pub async fn close(&self) {
        self.inner.writer.close().await;
    }

    /// How busy the storage is, and what it has done.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let shared = self.inner.writer.shared();
        let (queue_length, queue_capacity) = self.inner.writer.queue();
        let (readers, readers_idle) = self.inner.readers.counts();
        Statistics {
            commits: shared.commits.load(Relaxed),
            writes: shared.writes.load(Relaxed),
            failed_commits: shared.failed_commits.load(Relaxed),
            refused_writes: shared.refused_writes.load(Relaxed),
            queue_length,
            queue_capacity,
            given_up: shared.given_up.load(Relaxed),
            readers,
            readers_idle,
        }
    }

    /// Runs a read of one statement.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut AnyConnection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.inner.readers.read(work).await
    }

    /// Runs a read of several statements, which all see the same moment.
    pub(crate) async fn snapshot<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut AnyConnection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.inner.readers.snapshot(work).await
    }

    /// Runs a write, and returns when it is on disk.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Write<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.inner.writer.submit(work)?.wait().await
    }

    pub(crate) fn writer(&self) -> &Writer {
        &self.inner.writer
    }

    pub(crate) fn options(&self) -> &Arc<SqliteOptions> {
        &self.inner.options
    }
}

impl std::fmt::Debug for DieselStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DieselStorage").field("path", &self.inner.options.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::{
        change::Subject,
        model::UserId,
        port::{BlockList, ChangeFeed, StoreErrorKind},
    };

    #[tokio::test]
    async fn a_write_or_read_that_panics_fails_alone_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let storage =
            DieselStorage::open(SqliteOptions::new(folder.path().join("companion.db"))).await.unwrap();
        let user = UserId::new(1).unwrap();
        let panicking = storage.write::<()>(move |write| {
            write.record(&Subject::Blocked(user))?;
            panic!("on purpose");
        });
        let (failed, blocked) = tokio::join!(panicking, storage.block(user));
        assert_eq!(failed.unwrap_err().kind, StoreErrorKind::Corrupt);
        blocked.unwrap();
        assert_eq!(storage.latest().await.unwrap().0, 1);
        let failed = storage.snapshot::<()>(|_| panic!("on purpose")).await;
        assert_eq!(failed.unwrap_err().kind, StoreErrorKind::Unavailable);
        assert!(storage.is_blocked(user).await.unwrap());
    }
}
