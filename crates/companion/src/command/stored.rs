//! What the commands on stored data have in common: storage that lasts, and a runtime to use it in.

use super::Failure;
use crate::{
    composition::Storage,
    configuration::{Configuration, StorageUrl},
};
use tokio::runtime::Runtime;

/// Opens the configured storage, does something with it, and closes it.
pub(super) fn with_storage<T>(
    configuration: &Configuration,
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
        let storage = Storage::open(url).await?;
        let done = work(&storage).await;
        storage.close().await;
        done
    })
}
