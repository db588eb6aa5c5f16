//! Copies a database while it is in use.

use super::{connect, options::SqliteOptions};
use crate::error::BackupError;
use companion_domain::port::StoreError;
use diesel::{RunQueryDsl, connection::SimpleConnection, sql_query, sql_types::Text};
use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

impl SqliteOptions {
    /// Writes a consistent copy of the database to a file that must not exist yet. The copy has a temporary name until
    /// it is complete and durable. Reads and writes of other processes continue. Blocks the thread.
    pub fn backup(&self, target: &Path) -> Result<(), BackupError> {
        let refuse_existing = || match target.symlink_metadata() {
            Ok(_) => Err(BackupError::Exists(target.to_owned())),
            Err(_) => Ok(()),
        };
        refuse_existing()?;
        let partial = Partial::create(target).map_err(|error| unwritable(target, error))?;
        let mut connection =
            connect::open(&self.path, self.limits.max_write_wait).map_err(StoreError::unavailable)?;
        connection.batch_execute(&connect::set_page_size()).map_err(StoreError::unavailable)?;
        let name = partial.0.to_str().ok_or_else(|| {
            let reason = "the name of the file is not UTF-8";
            unwritable(target, io::Error::new(io::ErrorKind::InvalidInput, reason))
        })?;
        let copied = sql_query("VACUUM INTO $1").bind::<Text, _>(name).execute(&mut connection);
        copied.map_err(|error| BackupError::Unwritable(target.to_owned(), error.into()))?;
        refuse_existing()?;
        partial.finish(target).map_err(|error| unwritable(target, error))
    }
}

fn unwritable(path: &Path, error: io::Error) -> BackupError {
    BackupError::Unwritable(path.to_owned(), error.into())
}

/// Creates a file that only its owner can read, because the data is private. An existing empty file is kept.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// An unfinished copy. It is removed on drop.
struct Partial(PathBuf);

impl Partial {
    fn create(target: &Path) -> io::Result<Self> {
        let mut name = target.as_os_str().to_owned();
        name.push(format!(".{}.partial", std::process::id()));
        let partial = Self(name.into());
        // Left behind by an earlier process with the same id.
        let _ = fs::remove_file(&partial.0);
        create_private(&partial.0)?;
        Ok(partial)
    }

    fn finish(self, target: &Path) -> io::Result<()> {
        File::open(&self.0)?.sync_all()?;
        fs::rename(&self.0, target)?;
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Fails after the rename, when there is nothing to remove.
        let _ = fs::remove_file(&self.0);
    }
}
