//! Management keys in files, which may be replaced while the service runs.

use crate::configuration::ScopedKey;
use companion_management::ManagementKeys;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{task::spawn_blocking, time::sleep};

/// Interval at which the files are read. They are short, and reading detects every way of replacing one.
const INTERVAL: Duration = Duration::from_millis(500);

/// Polls the files and accepts the keys they hold.
pub(super) async fn follow(keys: ManagementKeys, files: Vec<ScopedKey>) {
    if files.is_empty() {
        return;
    }
    let mut watched = Watched { keys, files: files.into(), refused: BTreeMap::new() };
    loop {
        sleep(INTERVAL).await;
        watched = watched.round().await;
    }
}

struct Watched {
    keys: ManagementKeys,
    files: Arc<[ScopedKey]>,
    /// The last error of each file, so that it is logged once.
    refused: BTreeMap<String, String>,
}

impl Watched {
    async fn round(mut self) -> Self {
        let files = Arc::clone(&self.files);
        let Ok(read) =
            spawn_blocking(move || files.iter().map(|file| file.source.read()).collect::<Vec<_>>()).await
        else {
            return self;
        };
        for (place, read) in read.into_iter().enumerate() {
            let Some(name) = self.files.get(place).map(|file| file.name.clone()) else { break };
            let exchanged = read.map_err(|error| error.to_string()).and_then(|key| {
                let taken = |other| format!("its file holds the same key as {other}");
                self.keys.exchange(&name, &key.0).map_err(taken)
            });
            self.note(name.as_str(), exchanged);
        }
        self
    }

    fn note(&mut self, name: &str, exchanged: Result<bool, String>) {
        match exchanged {
            Ok(exchanged) => {
                self.refused.remove(name);
                if exchanged {
                    tracing::info!(key = name, "a management key was replaced");
                }
            }
            Err(why) => {
                if self.refused.get(name) != Some(&why) {
                    tracing::error!(
                        key = name,
                        why,
                        "a management key was not replaced; the last one stays in use"
                    );
                    self.refused.insert(name.to_owned(), why);
                }
            }
        }
    }
}
