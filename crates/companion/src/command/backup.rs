//! `companion backup FILE`.

use super::{Failure, print, stored::with_storage};
use crate::{composition::Storage, configuration::Configuration};
use std::path::Path;

pub(super) fn run(configuration: &Configuration, file: &Path) -> Result<(), Failure> {
    with_storage(configuration, async |storage| {
        match storage {
            Storage::Sqlite(storage) => {
                storage.backup(file).await.map_err(|error| Failure::Failed(error.to_string()))?;
            }
            Storage::Memory(_) => {
                return Err(Failure::Unserviceable("storage in memory cannot be backed up".to_owned()));
            }
        }
        print(&format!("The database is copied to {}.\n", file.display()))
    })
}
