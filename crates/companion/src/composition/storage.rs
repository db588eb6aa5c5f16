//! The configured storage, and the lock that detects a second process on it.

use super::{Keys, metrics::StorageMetrics};
use crate::{
    configuration::StorageUrl,
    error::{ProgramError, failed, refused, with_causes},
};
use companion_domain::{
    model::UserId,
    port::{PlatformPauses, Sealed, Stores},
};
use companion_http::MetricsSource;
use companion_storage_diesel::{DieselStorage, Inspection, OpenError, PostgresOptions, SqliteOptions};
use companion_storage_memory::MemoryStorage;
use std::{
    fs::{File, TryLockError},
    path::Path,
    sync::Arc,
};
use tokio::task::{JoinError, spawn_blocking};

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
    pub async fn open(url: &StorageUrl) -> Result<Self, ProgramError> {
        Self::of(url, false).await.map_err(|error| not_open(&error))
    }

    /// Like [`Self::open`], but creates a missing SQLite file. If the key of an earlier database exists beside it,
    /// `create_beside_key` must be set: the file was probably lost and should be restored.
    pub async fn open_or_create(url: &StorageUrl, create_beside_key: bool) -> Result<Self, ProgramError> {
        let orphaned_key = Keys::ring_file(url).filter(|key| !create_beside_key && key.exists());
        Self::of(url, orphaned_key.is_none()).await.map_err(|error| match (&error, &orphaned_key) {
            (OpenError::Missing { .. }, Some(key)) => beside_a_key(&error, key),
            _ => not_open(&error),
        })
    }

    /// Opens the storage at a URL for reading only. Fails if the schema needs a migration. Returns an empty store in
    /// memory if the database does not exist.
    pub async fn open_without_migrating(url: &StorageUrl) -> Result<Self, ProgramError> {
        match Self::inspect(url).await.map_err(failed)? {
            None | Some(Err(OpenError::Missing { .. })) => Ok(Self::Memory(Arc::new(MemoryStorage::new()))),
            Some(Ok(found)) if found.pending.is_empty() => Self::open(url).await,
            Some(Ok(found)) => Err(failed(format_args!(
                "storage.url: the schema lacks {}\n    fix: bring it up to date with `companion migrate`",
                found.pending.join(", ")
            ))),
            Some(Err(error)) => Err(not_open(&error)),
        }
    }

    /// Inspects the database at a URL without changing it. Returns `None` in memory.
    pub(crate) async fn inspect(
        url: &StorageUrl,
    ) -> Result<Option<Result<Inspection, OpenError>>, JoinError> {
        let url = url.clone();
        let inspecting = spawn_blocking(move || match url {
            StorageUrl::Memory => None,
            StorageUrl::Sqlite(path) => Some(SqliteOptions::new(path).inspect()),
            StorageUrl::Postgres(url) => Some(PostgresOptions::new(url).inspect()),
        });
        inspecting.await
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

fn beside_a_key(error: &OpenError, key: &Path) -> ProgramError {
    failed(format_args!(
        "storage.url: {error}, but its key file {} is there: a database was lost, or moved without its key\n    fix: restore \
         the database from a backup; or give it up, and make an empty one with --create",
        key.display()
    ))
}

/// Maps what cannot work as configured to `Refused`, and what may work later to `Failed`.
fn not_open(error: &OpenError) -> ProgramError {
    let message = format!("storage.url: {}", with_causes(error));
    if matches!(error, OpenError::Address | OpenError::TlsMissing { .. }) {
        refused(message)
    } else {
        failed(message)
    }
}

/// Locks the first key file beside a SQLite database, as long as the file is open. Returns whether another process
/// holds the lock, too. Without a key file, another process cannot be detected.
#[must_use]
pub fn claim_serving_lock(url: &StorageUrl) -> Option<(File, bool)> {
    let lock = Keys::files_beside(url).into_iter().find_map(|file| File::open(file).ok())?;
    let is_shared = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
    Some((lock, is_shared))
}
