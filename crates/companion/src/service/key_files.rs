//! Management keys in files, which may be replaced while the service runs.

use crate::configuration::ScopedKey;
use companion_management::ManagementKeys;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{task::spawn_blocking, time::sleep};

/// Interval at which the files are read. They are short, and reading detects every way of replacing one.
const INTERVAL: Duration = Duration::from_millis(500);

/// Polls the files and accepts the keys they hold.
pub(super) async fn follow(keys: ManagementKeys, files: Vec<ScopedKey>) {
    let files: Arc<[ScopedKey]> = files.into();
    // The last error of each file, so that it is logged once.
    let mut refused = BTreeMap::new();
    while !files.is_empty() {
        sleep(INTERVAL).await;
        let read = {
            let files = Arc::clone(&files);
            spawn_blocking(move || files.iter().map(|file| file.source.read()).collect::<Vec<_>>())
        };
        let Ok(read) = read.await else { continue };
        for (ScopedKey { name, .. }, read) in files.iter().zip(read) {
            let exchanged = read.map_err(|error| error.to_string()).and_then(|key| {
                let taken = |other| format!("its file holds the same key as {other}");
                keys.exchange(name, &key.0).map_err(taken)
            });
            note(&mut refused, name.as_str(), exchanged);
        }
    }
}

fn note(refused: &mut BTreeMap<String, String>, name: &str, exchanged: Result<bool, String>) {
    match exchanged {
        Ok(exchanged) => {
            refused.remove(name);
            if exchanged {
                tracing::info!(key = name, "a management key was replaced");
            }
        }
        Err(why) if refused.get(name) != Some(&why) => {
            tracing::error!(key = name, why, "a management key was not replaced; the last one stays in use");
            refused.insert(name.to_owned(), why);
        }
        Err(_) => {}
    }
}
