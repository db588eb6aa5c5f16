//! `companion serve`.

use super::{Failure, print, running::Running};
use crate::{
    build_information::VERSION,
    composition::{Adapters, Composition},
    configuration::{Loaded, Source, StorageUrl, Used},
    logging,
};

pub(super) fn run(loaded: &Loaded) -> Result<(), Failure> {
    let configuration = &loaded.configuration;
    logging::start(&configuration.log);
    warn(loaded);
    let running = Running::start(configuration, async || {
        let adapters =
            Adapters::choose(configuration).map_err(|error| Failure::Unserviceable(error.to_string()))?;
        Ok(Composition::new(configuration, &adapters))
    })?;
    let (public, management) = (
        running.service().public_address(),
        running.service().management_address(),
    );
    print(&format!(
        "Companion {VERSION}\n\
         Public API:     http://{public}\n\
         Management API: http://{management} (ready when http://{management}/health/ready answers 200)\n\
         Storage:        {}\n\
         Stop with Ctrl-C or SIGTERM.\n",
        match configuration.storage.url {
            StorageUrl::Memory => "in memory, forgotten at the end",
            StorageUrl::Sqlite(_) => "SQLite",
            StorageUrl::Postgres(_) => "PostgreSQL",
        }
    ))?;
    running.until_signal()
}

/// Tells what was configured in vain.
fn warn(loaded: &Loaded) {
    let in_vain = loaded
        .effective
        .iter()
        .filter(|known| known.key.used == Used::NotYet);
    for known in in_vain.filter(|known| known.source != Source::Default) {
        tracing::warn!(key = known.key.path, "configured, but not used yet");
    }
    if loaded.configuration.storage.url == StorageUrl::Memory {
        tracing::warn!("storage is in memory: everything is forgotten when the program ends");
    }
}
