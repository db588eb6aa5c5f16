//! Checks of the database: reachable, readable, and its schema up to date.

use super::{
    check::{Check, Installation, Subject},
    report::{one_line, root},
};
use crate::{
    composition::Keys,
    configuration::{Configuration, StorageUrl},
};
use companion_storage_diesel::{Inspection, OpenError, PostgresOptions, SqliteOptions};
use std::time::Duration;
use tokio::{task::spawn_blocking, time::timeout};

const DATABASE: Subject = Subject::new("database", "storage.url");
/// Timeout of the inspection, long enough for a distant server.
const DEADLINE: Duration = Duration::from_secs(10);

/// The result of the inspection, and what other checks need of it.
pub(super) struct Database {
    pub(super) check: Check,
    pub(super) inspection: Option<Inspection>,
    /// The schema error, if that is the problem.
    pub(super) schema_error: Option<OpenError>,
}

impl Database {
    const fn without(check: Check) -> Self {
        Self { check, inspection: None, schema_error: None }
    }
}

pub(super) async fn inspect(installation: &Installation) -> Database {
    if let Err(skipped) = installation.needs(DATABASE, &["storage.url"]) {
        return Database::without(skipped);
    }
    let configuration = &installation.configuration;
    if configuration.storage.url == StorageUrl::Memory {
        return Database::without(DATABASE.warning(
            "storage is in memory: all data is lost when the program exits",
            "set COMPANION_STORAGE__URL=sqlite:PATH",
        ));
    }
    let url = configuration.storage.url.clone();
    let inspecting = spawn_blocking(move || match url {
        StorageUrl::Sqlite(path) => SqliteOptions::new(path).inspect().map(Some),
        StorageUrl::Postgres(url) => PostgresOptions::new(url).inspect().map(Some),
        StorageUrl::Memory => Ok(None),
    });
    match timeout(DEADLINE, inspecting).await {
        Ok(Ok(Ok(inspection))) => {
            Database { check: DATABASE.ok(location(configuration)), inspection, schema_error: None }
        }
        Ok(Ok(Err(error @ (OpenError::Newer { .. } | OpenError::Altered { .. })))) => Database {
            check: DATABASE.ok(location(configuration)),
            inspection: None,
            schema_error: Some(error),
        },
        Ok(Ok(Err(error))) => Database::without(check_of_error(&error, configuration)),
        Ok(Err(stopped)) => Database::without(DATABASE.failed(stopped.to_string(), "run doctor again")),
        Err(_) => Database::without(DATABASE.failed(
            format!("it did not answer within {} s", DEADLINE.as_secs()),
            "check that the server runs, and that a firewall lets this machine through",
        )),
    }
}

fn location(configuration: &Configuration) -> String {
    match &configuration.storage.url {
        StorageUrl::Sqlite(path) => format!("SQLite, in the file {}", path.display()),
        StorageUrl::Postgres(_) => "PostgreSQL answers".to_owned(),
        StorageUrl::Memory => "in memory".to_owned(),
    }
}

fn check_of_error(error: &OpenError, configuration: &Configuration) -> Check {
    if let (OpenError::Missing(path), StorageUrl::Sqlite(database)) = (error, &configuration.storage.url) {
        let key = Keys::file_beside(database);
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
    let (cause, remedy) = problem_and_fix(error);
    DATABASE.failed(cause, remedy)
}

/// Splits an error's message into problem and fix.
pub(super) fn problem_and_fix(error: &OpenError) -> (String, String) {
    let sentence = one_line(&error.to_string());
    let deepest = std::error::Error::source(error).map(|cause| one_line(&root(cause)));
    let (problem, remedy) = sentence.rsplit_once(": ").unwrap_or((&sentence, "see docs/operate.md"));
    (
        deepest.map_or_else(|| problem.to_owned(), |deepest| format!("{problem} ({deepest})")),
        remedy.to_owned(),
    )
}

const SCHEMA: Subject = Subject::new("schema", "storage.url");

pub(super) fn check(database: &Database) -> Check {
    if let Some(error) = &database.schema_error {
        let (cause, remedy) = problem_and_fix(error);
        return SCHEMA.failed(cause, remedy);
    }
    match &database.inspection {
        None => SCHEMA.skipped("there is no database to look at"),
        Some(found) if found.pending.is_empty() => {
            SCHEMA.ok(format!("it has all {} steps of this version", found.applied))
        }
        Some(found) => SCHEMA.warning(
            format!("it lacks {}", found.pending.join(", ")),
            "`companion serve` and `companion migrate` bring it up to date; make a backup first",
        ),
    }
}
