//! `companion backup FILE`.

use super::{
    failure::{Failure, with_causes},
    output::print,
    stored::with_storage,
};
use crate::{
    composition::Storage,
    configuration::{Configuration, StorageUrl},
};
use companion_storage_diesel::BackupError;
use std::path::Path;

pub(super) fn run(configuration: &Configuration, file: &Path) -> Result<(), Failure> {
    // A server need not even be there to know that it is not ours to copy.
    if let StorageUrl::Postgres(_) = configuration.storage.url {
        return Err(Failure::Unserviceable(BackupError::OnServer.to_string()));
    }
    with_storage(configuration, async |storage| {
        match storage {
            Storage::Diesel(storage) => storage.backup(file).await.map_err(|error| match error {
                BackupError::OnServer => Failure::Unserviceable(error.to_string()),
                BackupError::Exists(_) | BackupError::Unwritable { .. } | BackupError::Store(_) => {
                    Failure::Failed(with_causes(&error))
                }
            })?,
            Storage::Memory(_) => {
                return Err(Failure::Unserviceable("storage in memory cannot be backed up".to_owned()));
            }
        }
        print(&format!("The database is copied to {}.\n", file.display()))
    })
}
