//! `companion serve`.

use super::{VERSION, error::CommandError, foreground::Foreground, output::print};
use crate::{
    composition::{Adapters, Composition, Keys, ServingLock, Storage},
    configuration::{KeyError, Loaded, StorageUrl},
    logging, supervisor,
    system::SystemEntropy,
};

pub(super) fn run(loaded: &Loaded, create: bool) -> Result<(), CommandError> {
    let configuration = &loaded.configuration;
    logging::start(&configuration.log);
    warn(loaded);
    let mut key_file = None;
    let mut serving_lock = None;
    let running = Foreground::start(configuration, async || {
        let storage = Storage::open_or_create(&configuration.storage.url, create).await?;
        Keys::check_ring(configuration, &storage.newest_sealed().await)?;
        let keys = Keys::resolve(configuration, &SystemEntropy)?;
        key_file.clone_from(&keys.management_file);
        for file in Keys::open_to_others(configuration) {
            tracing::warn!(
                "other users of this machine can read a file with secrets; fix: chmod 600 {}",
                file.display()
            );
        }
        serving_lock = Some(ServingLock::claim(
            &configuration.storage.url,
            &Keys::files_beside(&configuration.storage.url),
        ));
        if serving_lock.as_ref().is_some_and(ServingLock::is_shared) {
            tracing::warn!(
                "storage.url: another program serves from this SQLite file; both wait for each other's writes. Stop one of \
                 them, or let several share a PostgreSQL server"
            );
        }
        let adapters = Adapters::choose(configuration, &storage)?;
        let composition = Composition::new(configuration, &adapters, &keys);
        Ok((composition, storage))
    })?;
    let (public, management) = (running.service().public_address(), running.service().management_address());
    let scheme = if configuration.http.tls_certificate.is_some() { "https" } else { "http" };
    print(&format!(
        "Companion {VERSION}\n\
         Public API:     {scheme}://{public}\n\
         Management API: http://{management} (ready when http://{management}/health/ready answers 200)\n\
         Management key: {}\n\
         {}Storage:        {}\n\
         Stop with Ctrl-C or SIGTERM.\n",
        match key_file {
            Some(file) => format!("in the file {}", file.display()),
            None if configuration.management.key.is_some() || !configuration.management.keys.0.is_empty() => {
                "as configured".to_owned()
            }
            None => "none is set; set COMPANION_MANAGEMENT__KEY to use the management API".to_owned(),
        },
        match (running.service().dashboard_address(), &configuration.dashboard.url) {
            (Some(address), Some(url)) => format!(
                "Dashboard:      {} (listens on {address})\n\
                 Redirect URI:   {} (has to be registered at the platform)\n",
                url.0,
                url.callback()
            ),
            _ => String::new(),
        },
        match &configuration.storage.url {
            StorageUrl::Memory => "in memory, lost at exit".to_owned(),
            StorageUrl::Sqlite(path) => format!("SQLite, in the file {}", path.display()),
            StorageUrl::Postgres(_) => "PostgreSQL".to_owned(),
        }
    ))?;
    supervisor::ready();
    running.runtime.spawn(supervisor::feed_watchdog(management));
    let ended = running.until_signal();
    drop(serving_lock);
    ended
}

/// Logs a warning for every setting that is probably a mistake.
fn warn(loaded: &Loaded) {
    for variable in &loaded.unread {
        tracing::warn!("{variable}");
    }
    for KeyError { key, problem, fix, .. } in &loaded.warnings {
        tracing::warn!("{key} {problem}; fix: {fix}");
    }
    if loaded.configuration.storage.url == StorageUrl::Memory {
        tracing::warn!("storage is in memory: all data is lost when the program exits");
    }
}
