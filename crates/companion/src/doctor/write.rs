//! Checks whether synced writes succeed, and how long they take.

use super::{
    check::{Check, Installation, Subject},
    report::{length, root},
};
use crate::configuration::StorageUrl;
use companion_storage_diesel::Inspection;
use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
    time::{Duration, Instant},
};
use tempfile::TempPath;
use tokio::{task::spawn_blocking, time::timeout};

const WRITE: Subject = Subject::new("synced write", "storage.url");
/// Threshold of a warning. Every sign-in waits for one such write.
const SLOW: Duration = Duration::from_millis(250);
/// Number of writes, because a single one may meet a busy disk.
const ATTEMPTS: usize = 5;
const DEADLINE: Duration = Duration::from_secs(10);
/// About one or two pages of the database log.
const BYTES: [u8; 4096] = [0; 4096];

/// Checks a write beside the database. Returns `None` if the database is on a server.
pub(super) async fn beside(installation: &Installation) -> Option<Check> {
    if let Err(skipped) = installation.needs(WRITE, &["storage.url"]) {
        return Some(skipped);
    }
    match &installation.configuration.storage.url {
        StorageUrl::Memory => Some(WRITE.skipped("nothing is written")),
        StorageUrl::Postgres(_) => None,
        StorageUrl::Sqlite(path) => Some(into_folder_of(path).await),
    }
}

/// Checks the write on the server, which the database inspection has made.
pub(super) fn on_server(inspection: Option<&Inspection>) -> Check {
    match inspection.and_then(|found| found.write) {
        Some(duration) => check_duration(duration, "a write on the server, taken back again,"),
        None => WRITE.skipped("cannot be told before the database answers"),
    }
}

async fn into_folder_of(database: &Path) -> Check {
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).to_owned();
    let writing = spawn_blocking({
        let folder = folder.clone();
        move || write_and_remove(&folder)
    });
    let denied = |error: &str| {
        WRITE.failed(
            format!("nothing can be written to the folder {}: {error}", folder.display()),
            "let the user of the service write there, and check that the disk has room and is not mounted read-only",
        )
    };
    match timeout(DEADLINE, writing).await {
        Ok(Ok(Ok(duration))) => check_duration(duration, "a write beside the database, removed again,"),
        Ok(Ok(Err(error))) => denied(&root(&error)),
        Ok(Err(stopped)) => denied(&root(&stopped)),
        Err(_) => denied(&format!("it took longer than {} s", DEADLINE.as_secs())),
    }
}

/// Returns the median duration of a write. The file is removed in any case.
fn write_and_remove(folder: &Path) -> io::Result<Duration> {
    let path = folder.join(format!("companion-doctor.{}.partial", std::process::id()));
    let mut file = File::create_new(&path)?;
    let removed_at_the_end = TempPath::try_from_path(path)?;
    let mut durations = [Duration::ZERO; ATTEMPTS];
    for duration in &mut durations {
        let begun = Instant::now();
        file.write_all(&BYTES)?;
        file.sync_all()?;
        *duration = begun.elapsed();
    }
    removed_at_the_end.close()?;
    durations.sort_unstable();
    Ok(durations.get(ATTEMPTS / 2).copied().unwrap_or_default())
}

fn check_duration(duration: Duration, what: &str) -> Check {
    let cause = format!("{what} took {}", length(duration));
    if duration < SLOW {
        WRITE.ok(cause)
    } else {
        WRITE.warning(cause, "use a faster disk; every sign-in and every change waits for such a write")
    }
}
