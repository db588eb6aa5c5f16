//! Whether the schema is that of this version.

use super::{
    check::{Check, Subject},
    database::{Database, taken_apart},
};

const SCHEMA: Subject = Subject::new("schema", "storage.url");

pub(super) fn check(database: &Database) -> Check {
    if let Some(error) = &database.schema_error {
        let (cause, remedy) = taken_apart(error);
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
