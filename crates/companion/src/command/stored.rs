//! What the commands on stored data have in common: storage that lasts, and a runtime to use it in.

use super::failure::Failure;
use crate::{
    composition::{Storage, Unserviceable},
    configuration::{Configuration, StorageUrl},
};
use tokio::runtime::Runtime;

/// Opens the configured storage, which has to be there, does something with it, and closes it.
pub(super) fn with_storage<T>(
    configuration: &Configuration,
    work: impl AsyncFnOnce(&Storage) -> Result<T, Failure>,
) -> Result<T, Failure> {
    within(configuration, Storage::open, work)
}

/// The same, after making the storage where there is none; beside a key only where `anew` says so.
pub(super) fn with_storage_made<T>(
    configuration: &Configuration,
    anew: bool,
    work: impl AsyncFnOnce(&Storage) -> Result<T, Failure>,
) -> Result<T, Failure> {
    within(configuration, async |url| Storage::open_or_create(url, anew).await, work)
}

/// The same for those who change nothing, not even the schema. Where there is no database, an empty one in memory stands in.
pub(super) fn with_storage_as_it_is<T>(
    configuration: &Configuration,
    work: impl AsyncFnOnce(&Storage) -> Result<T, Failure>,
) -> Result<T, Failure> {
    within(configuration, Storage::open_as_it_is, work)
}

fn within<T>(
    configuration: &Configuration,
    open: impl AsyncFnOnce(&StorageUrl) -> Result<Storage, Unserviceable>,
    work: impl AsyncFnOnce(&Storage) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let url = &configuration.storage.url;
    if *url == StorageUrl::Memory {
        return Err(Failure::Unserviceable(
            "storage.url: storage in memory has nothing to work on\n    fix: set COMPANION_STORAGE__URL=sqlite:PATH"
                .to_owned(),
        ));
    }
    let runtime = Runtime::new().map_err(|error| Failure::Failed(error.to_string()))?;
    runtime.block_on(async {
        let storage = open(url).await?;
        let done = work(&storage).await;
        storage.close().await;
        done
    })
}
