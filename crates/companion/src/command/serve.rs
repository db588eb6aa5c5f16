//! `companion serve`.

use super::{
    VERSION,
    foreground::{Signals, until_signal},
    output::print,
};
use crate::{
    composition::{Adapters, Composition, Keys, Storage, claim_serving_lock},
    configuration::{Configuration, KeyError, Loaded, LogFormat, StorageUrl},
    error::{ProgramError, failed},
    logging,
    service::{Listeners, Service},
    supervisor::{self, PassedListeners},
    system::SystemEntropy,
};
use tokio::runtime::Runtime;

pub(super) fn run(loaded: &Loaded, create: bool) -> Result<(), ProgramError> {
    let configuration = &loaded.configuration;
    let format = logging::start(&configuration.log);
    warn(loaded);
    let runtime = Runtime::new().map_err(failed)?;
    let storage = runtime.block_on(Storage::open_or_create(&configuration.storage.url, create))?;
    Keys::check_ring(configuration, &runtime.block_on(storage.newest_sealed()))?;
    let keys = Keys::resolve(configuration, &SystemEntropy)?;
    for file in Keys::open_to_others(configuration) {
        tracing::warn!(
            "other users of this machine can read a file with secrets; fix: chmod 600 {}",
            file.display()
        );
    }
    let serving_lock = claim_serving_lock(&configuration.storage.url);
    if serving_lock.as_ref().is_some_and(|(_, is_shared)| *is_shared) {
        tracing::warn!(
            "storage.url: another program serves from this SQLite file; both wait for each other's writes. Stop one of \
             them, or let several share a PostgreSQL server"
        );
    }
    // Signals are handled before "serving" is printed, so that a script that waits for that line can stop the service.
    let (signals, service) = runtime.block_on(async {
        let adapters = Adapters::choose(configuration, &storage)?;
        let composition = Composition::new(configuration, &adapters, &keys);
        let listeners = Listeners::bind_others(configuration, PassedListeners::take()?, None)?;
        let signals = Signals::listen().map_err(failed)?;
        Ok::<_, ProgramError>((signals, Service::start(configuration, composition, listeners).await?))
    })?;
    let key = match keys.management_file {
        Some(file) => format!("in the file {}", file.display()),
        None if configuration.management.key.is_some() || !configuration.management.keys.0.is_empty() => {
            "as configured".to_owned()
        }
        None => "none is set; set COMPANION_MANAGEMENT__KEY to use the management API".to_owned(),
    };
    announce(format, configuration, &service, &key)?;
    supervisor::ready();
    runtime.spawn(supervisor::feed_watchdog(service.management_address()));
    let ended = until_signal(runtime, service, signals, &storage, None);
    drop(serving_lock);
    ended?;
    match format {
        LogFormat::Human => print("Stopped.\n"),
        LogFormat::Json => {
            tracing::info!("stopped");
            Ok(())
        }
    }
}

/// Tells where the service listens: on standard output, or as an event of a JSON log, whose reader parses every line.
fn announce(
    format: LogFormat,
    configuration: &Configuration,
    service: &Service,
    key: &str,
) -> Result<(), ProgramError> {
    let scheme = if configuration.http.tls_certificate.is_some() { "https" } else { "http" };
    let public = format!("{scheme}://{}", service.public_address());
    let management = format!("http://{}", service.management_address());
    let dashboard = service.dashboard_address().zip(configuration.dashboard.url.as_ref());
    let storage = match &configuration.storage.url {
        StorageUrl::Memory => "in memory, lost at exit".to_owned(),
        StorageUrl::Sqlite(path) => format!("SQLite, in the file {}", path.display()),
        StorageUrl::Postgres(_) => "PostgreSQL".to_owned(),
    };
    if format == LogFormat::Json {
        tracing::info!(
            version = VERSION,
            public,
            management,
            management_key = key,
            dashboard = dashboard.map(|(_, url)| display(&url.0)),
            dashboard_listener = dashboard.map(|(address, _)| display(address)),
            redirect_uri = dashboard.map(|(_, url)| display(url.callback())),
            storage,
            "serving"
        );
        return Ok(());
    }
    let dashboard = dashboard.map(|(address, url)| {
        format!(
            "Dashboard:      {} (listens on {address})\n\
             Redirect URI:   {} (has to be registered at the platform)\n",
            url.0,
            url.callback()
        )
    });
    print(&format!(
        "Companion {VERSION}\n\
         Public API:     {public}\n\
         Management API: {management} (ready when {management}/health/ready answers 200)\n\
         Management key: {key}\n\
         {}Storage:        {storage}\n\
         Stop with Ctrl-C or SIGTERM.\n",
        dashboard.unwrap_or_default()
    ))
}

/// Logs a warning for every setting that is probably a mistake.
fn warn(loaded: &Loaded) {
    for KeyError { key, problem, fix, .. } in &loaded.warnings {
        tracing::warn!("{key} {problem}; fix: {fix}");
    }
    if loaded.configuration.storage.url == StorageUrl::Memory {
        tracing::warn!("storage is in memory: all data is lost when the program exits");
    }
}
