//! Checks of the database: reachable, readable, and its schema up to date.

use super::{
    check::{Check, Installation, Subject},
    report::{one_line, root},
};
use crate::{
    composition::{Keys, Storage},
    configuration::{Configuration, StorageUrl},
};
use companion_storage_diesel::{Inspection, OpenError};
use std::time::Duration;
use tokio::time::timeout;

const DATABASE: Subject = Subject::new("database", "storage.url");
/// Timeout of the inspection, long enough for a distant server.
const DEADLINE: Duration = Duration::from_secs(10);

/// An inspected database, or why its schema is not ours. `None` if the database could not be inspected.
type Inspected = Option<Result<Inspection, OpenError>>;

pub(super) async fn inspect(installation: &Installation) -> (Check, Inspected) {
    if let Err(skipped) = installation.needs(DATABASE, &["storage.url"]) {
        return (skipped, None);
    }
    let configuration = &installation.configuration;
    let check = match timeout(DEADLINE, Storage::inspect(&configuration.storage.url)).await {
        Ok(Ok(None)) => DATABASE.warning(
            "storage is in memory: all data is lost when the program exits",
            "set COMPANION_STORAGE__URL=sqlite:PATH",
        ),
        Ok(Ok(Some(inspected @ (Ok(_) | Err(OpenError::Newer { .. } | OpenError::Altered { .. }))))) => {
            return (DATABASE.ok(location(configuration)), Some(inspected));
        }
        Ok(Ok(Some(Err(error)))) => check_of_error(&error, configuration),
        Ok(Err(stopped)) => DATABASE.failed(stopped.to_string(), "run doctor again"),
        Err(_) => DATABASE.failed(
            format!("it did not answer within {} s", DEADLINE.as_secs()),
            "check that the server runs, and that a firewall lets this machine through",
        ),
    };
    (check, None)
}

fn location(configuration: &Configuration) -> String {
    match &configuration.storage.url {
        StorageUrl::Sqlite(path) => format!("SQLite, in the file {}", path.display()),
        StorageUrl::Postgres(_) => "PostgreSQL answers".to_owned(),
        StorageUrl::Memory => "in memory".to_owned(),
    }
}

fn check_of_error(error: &OpenError, configuration: &Configuration) -> Check {
    if let (OpenError::Missing(path), Some(key)) = (error, Keys::ring_file(&configuration.storage.url)) {
        return if key.exists() {
            DATABASE.failed(
                format!("there is no database at {}, but its key file is there", path.display()),
                "restore the database from a backup; or give it up, and make an empty one with `companion serve --create`",
            )
        } else {
            DATABASE.warning(
                format!("there is no database at {} yet", path.display()),
                "`companion serve` makes it; if there should be one, run doctor in its folder, or set storage.url",
            )
        };
    }
    failed(DATABASE, error)
}

/// Reports an error, whose message is split into problem and fix.
fn failed(subject: Subject, error: &OpenError) -> Check {
    let sentence = one_line(&error.to_string());
    let deepest = std::error::Error::source(error).map(|cause| one_line(&root(cause)));
    let (problem, remedy) = sentence.rsplit_once(": ").unwrap_or((&sentence, "see docs/operate.md"));
    let cause = deepest.map_or_else(|| problem.to_owned(), |deepest| format!("{problem} ({deepest})"));
    subject.failed(cause, remedy)
}

const SCHEMA: Subject = Subject::new("schema", "storage.url");

pub(super) fn check_schema(inspected: Option<&Result<Inspection, OpenError>>) -> Check {
    match inspected {
        None => SCHEMA.skipped("there is no database to look at"),
        Some(Err(error)) => failed(SCHEMA, error),
        Some(Ok(found)) if found.pending.is_empty() => {
            SCHEMA.ok(format!("it has all {} steps of this version", found.applied))
        }
        Some(Ok(found)) => SCHEMA.warning(
            format!("it lacks {}", found.pending.join(", ")),
            "`companion serve` and `companion migrate` bring it up to date; make a backup first",
        ),
    }
}
