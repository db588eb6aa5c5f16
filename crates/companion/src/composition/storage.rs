//! The configured storage, and the lock that detects a second process on it.

use super::{CompositionError, Keys, metrics::StorageMetrics};
use crate::configuration::StorageUrl;
use companion_domain::{
    model::UserId,
    port::{PlatformPauses, Sealed, Stores},
};
use companion_http::MetricsSource;
use companion_storage_diesel::{DieselStorage, OpenError, PostgresOptions, SqliteOptions};
use companion_storage_memory::MemoryStorage;
use std::{
    error::Error as _,
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::task::spawn_blocking;

/// An open store.
#[derive(Clone)]
pub enum Storage {
    /// In memory.
    Memory(Arc<MemoryStorage>),
    /// In a SQLite file, or on a PostgreSQL server.
    Diesel(Arc<DieselStorage>),
}

impl Storage {
    /// Opens the storage at a URL and migrates its schema. Fails if a SQLite file does not exist.
    pub async fn open(url: &StorageUrl) -> Result<Self, CompositionError> {
        Self::of(url, false).await.map_err(|error| composition_error(&error))
    }

    /// Like [`Self::open`], but creates a missing SQLite file. If the key of an earlier database exists beside it,
    /// `create_beside_key` must be set: the file was probably lost and should be restored.
    pub async fn open_or_create(url: &StorageUrl, create_beside_key: bool) -> Result<Self, CompositionError> {
        let orphaned_key = match url {
            StorageUrl::Sqlite(path) => Some(Keys::file_beside(path)),
            StorageUrl::Postgres(_) | StorageUrl::Memory => None,
        };
        let orphaned_key = orphaned_key.filter(|key| !create_beside_key && key.exists());
        Self::of(url, orphaned_key.is_none()).await.map_err(|error| match (&error, &orphaned_key) {
            (OpenError::Missing { .. }, Some(key)) => CompositionError::Failed(beside_a_key(&error, key)),
            _ => composition_error(&error),
        })
    }

    /// Opens the storage at a URL for reading only. Fails if the schema needs a migration. Returns an empty store in
    /// memory if the database does not exist.
    pub async fn open_without_migrating(url: &StorageUrl) -> Result<Self, CompositionError> {
        let inspecting = spawn_blocking({
            let url = url.clone();
            move || match url {
                StorageUrl::Memory => Ok(Vec::new()),
                StorageUrl::Sqlite(path) => SqliteOptions::new(path).inspect().map(|found| found.pending),
                StorageUrl::Postgres(url) => PostgresOptions::new(url).inspect().map(|found| found.pending),
            }
        });
        match inspecting.await.map_err(|stopped| CompositionError::Failed(stopped.to_string()))? {
            Ok(pending) if pending.is_empty() => Self::open(url).await,
            Ok(pending) => Err(CompositionError::Failed(format!(
                "storage.url: the schema lacks {}\n    fix: bring it up to date with `companion migrate`",
                pending.join(", ")
            ))),
            Err(OpenError::Missing { .. }) => Ok(Self::Memory(Arc::new(MemoryStorage::new()))),
            Err(error) => Err(composition_error(&error)),
        }
    }

    async fn of(url: &StorageUrl, create: bool) -> Result<Self, OpenError> {
        let storage = match url {
            StorageUrl::Memory => return Ok(Self::Memory(Arc::new(MemoryStorage::new()))),
            StorageUrl::Sqlite(path) => {
                DieselStorage::open(SqliteOptions { create, ..SqliteOptions::new(path) }).await?
            }
            StorageUrl::Postgres(url) => {
                DieselStorage::open_postgres(PostgresOptions::new(url.clone())).await?
            }
        };
        Ok(Self::Diesel(Arc::new(storage)))
    }

    /// The store behind every port.
    #[must_use]
    pub fn stores(&self) -> Stores {
        match self {
            Self::Memory(storage) => Stores::of(storage),
            Self::Diesel(storage) => Stores::of(storage),
        }
    }

    /// Returns the rate limit pauses of the platform, shared by all nodes.
    #[must_use]
    pub fn platform_pauses(&self) -> Arc<dyn PlatformPauses> {
        match self {
            Self::Memory(storage) => storage.clone(),
            Self::Diesel(storage) => storage.clone(),
        }
    }

    /// Returns the database, or `None` in memory.
    const fn diesel(&self) -> Option<&Arc<DieselStorage>> {
        match self {
            Self::Memory(_) => None,
            Self::Diesel(storage) => Some(storage),
        }
    }

    /// Returns the metrics of the store, if it has any.
    #[must_use]
    pub fn metrics(&self) -> Option<Arc<dyn MetricsSource>> {
        Some(Arc::new(StorageMetrics(self.diesel()?.clone())))
    }

    /// Returns how many rows of each table could not be read so far. Tables without any are left out.
    #[must_use]
    pub fn unreadable_rows(&self) -> Vec<(&'static str, u64)> {
        let rows = self.diesel().into_iter().flat_map(|storage| storage.unreadable_rows());
        rows.filter(|(_, count)| *count > 0).collect()
    }

    /// Returns the sealed tokens of the users who signed in last. Empty if they cannot be read; other checks report
    /// that.
    pub async fn newest_sealed(&self) -> Vec<(UserId, Sealed)> {
        let Some(storage) = self.diesel() else { return Vec::new() };
        storage.newest_sealed().await.unwrap_or_default()
    }

    /// Flushes pending writes.
    pub async fn close(&self) {
        if let Some(storage) = self.diesel() {
            storage.close().await;
        }
    }
}

fn beside_a_key(error: &OpenError, key: &Path) -> String {
    format!(
        "storage.url: {error}, but its key file {} is there: a database was lost, or moved without its key\n    fix: restore \
         the database from a backup; or give it up, and make an empty one with --create",
        key.display()
    )
}

/// Maps what cannot work as configured to `Refused`, and what may work later to `Failed`.
fn composition_error(error: &OpenError) -> CompositionError {
    let cause = error.source().map(|cause| format!("\n    cause: {cause}")).unwrap_or_default();
    let message = format!("storage.url: {error}{cause}");
    if matches!(error, OpenError::Address | OpenError::TlsMissing { .. }) {
        CompositionError::Refused(message)
    } else {
        CompositionError::Failed(message)
    }
}

/// A lock held while this process serves.
#[derive(Debug)]
pub struct ServingLock {
    _lock: Option<File>,
    is_shared: bool,
}

impl ServingLock {
    /// Locks the first of these files that exists. If none exists, another process cannot be detected.
    #[must_use]
    pub fn claim(url: &StorageUrl, beside: &[PathBuf]) -> Self {
        let open = |file: &PathBuf| File::open(file).ok();
        let lock = match url {
            StorageUrl::Sqlite(_) => beside.iter().find_map(open),
            StorageUrl::Postgres(_) | StorageUrl::Memory => None,
        };
        let is_taken = |lock: &File| matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
        let is_shared = lock.as_ref().is_some_and(is_taken);
        Self { _lock: lock, is_shared }
    }

    /// Whether another process held the lock.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        self.is_shared
    }
}
