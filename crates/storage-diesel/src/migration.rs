//! Applies migrations, and rejects databases that are not of this program. Every database has the same migrations.

use crate::{
    connection::{Access, AnyConnection},
    error::OpenError,
    limits::Purpose,
    postgres::{self, PostgresOptions},
    schema::Object,
    sqlite::{self, SqliteOptions, connect},
};
use companion_domain::port::Cause;
use diesel::{
    QueryResult, RunQueryDsl,
    connection::AnsiTransactionManager,
    dsl::sql,
    migration::{Migration, MigrationSource},
    result::Error as DatabaseError,
    sql_types::{Bool, Text},
    sqlite::Sqlite,
};
use diesel_migrations::MigrationHarness as _;
use std::{collections::BTreeMap, fmt::Display, sync::LazyLock};

/// Version and name of all migrations, in order. They are part of the program, so listing them cannot fail.
static STEPS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let found: Vec<Box<dyn Migration<Sqlite>>> = sqlite::migration::STEPS.migrations().unwrap_or_default();
    found.iter().map(|step| (step.name().version().to_string(), step.name().to_string())).collect()
});

/// Returns the versions of the migrations recorded in the database.
pub(crate) fn applied(db: &mut AnyConnection) -> QueryResult<Vec<String>> {
    let is_there = sql::<Bool>(match db {
        AnyConnection::Sqlite(_) => {
            "SELECT count(*) > 0 FROM sqlite_schema WHERE name = '__diesel_schema_migrations'"
        }
        AnyConnection::Postgres(_) => "SELECT to_regclass('__diesel_schema_migrations') IS NOT NULL",
    });
    if !is_there.get_result::<bool>(db)? {
        return Ok(Vec::new());
    }
    sql::<Text>("SELECT CAST(version AS TEXT) FROM __diesel_schema_migrations ORDER BY 1").load(db)
}

/// Returns the names of the migrations that are not in `applied`.
pub(crate) fn lacking(applied: &[String]) -> Vec<String> {
    let lacking = STEPS.iter().filter(|(version, _)| !applied.contains(version));
    lacking.map(|(_, name)| name.clone()).collect()
}

/// Returns an error if `applied` contains a migration of a newer version.
pub(crate) fn refuse_newer(applied: &[String], database: &dyn Display) -> Result<(), OpenError> {
    match applied.iter().find(|version| !STEPS.contains_key(*version)) {
        Some(step) => Err(OpenError::Newer { database: database.to_string(), step: step.clone() }),
        None => Ok(()),
    }
}

/// Returns whether exactly the known migrations are applied.
pub(crate) fn is_complete(db: &mut AnyConnection) -> QueryResult<bool> {
    Ok(are_complete(&applied(db)?))
}

fn are_complete(applied: &[String]) -> bool {
    applied.len() == STEPS.len() && lacking(applied).is_empty()
}

/// Returns whether a file has tables but not the first migration, which every version of this program has applied.
pub(crate) fn is_foreign(db: &mut AnyConnection) -> QueryResult<bool> {
    let AnyConnection::Sqlite(file) = db else { return Ok(false) };
    let is_empty = sqlite::migration::objects(file)?.is_empty();
    let done = applied(db)?;
    Ok(!is_empty && !STEPS.keys().next().is_some_and(|first| done.contains(first)))
}

/// Describes the first table or index that is missing, different or unexpected, compared with a freshly migrated
/// database. Returns `None` if there is none.
pub(crate) fn difference(db: &mut AnyConnection) -> Result<Option<String>, Cause> {
    let (found, expected) = match db {
        AnyConnection::Sqlite(db) => sqlite::migration::found_and_expected(db)?,
        AnyConnection::Postgres(db) => postgres::migration::found_and_expected(db)?,
    };
    let missing = expected.iter().find(|object| !found.contains(object));
    let foreign = found.iter().find(|object| !expected.contains(object));
    Ok(missing.or(foreign).map(|object| {
        let has_name = |objects: &[Object]| objects.iter().any(|other| other.name == object.name);
        let how = match (has_name(&found), has_name(&expected)) {
            (true, true) => "differs from the migrations",
            (false, _) => "is missing",
            (true, false) => "is unexpected",
        };
        format!("{} {} {how}", object.kind, object.name)
    }))
}

/// Returns the error that the tables are not those of the migrations.
pub(crate) fn altered(database: &dyn Display, difference: String) -> OpenError {
    OpenError::Altered { database: database.to_string(), difference }
}

impl SqliteOptions {
    /// Applies pending migrations atomically, and returns their names. Creates the database if it is missing and the
    /// options allow it. Blocks the thread; concurrent calls of other processes wait.
    pub fn migrate(&self) -> Result<Vec<String>, OpenError> {
        let has_content = sqlite::migration::has_content(&self.path)?;
        if has_content {
            // This comes first, because enabling the write-ahead log writes to the file.
            self.refuse_foreign()?;
        } else if self.create {
            sqlite::backup::create_private(&self.path).map_err(|error| self.open_error(error))?;
        } else {
            return Err(OpenError::Missing(self.path.clone()));
        }
        let mut connection = self.connect_durable().map_err(|cause| self.open_error(cause))?;
        if has_content {
            // Finding damage now is better than failing a request later.
            connect::check_pages(&mut connection).map_err(|cause| self.open_error(cause))?;
        }
        let fail = |cause| self.open_error(cause);
        apply(&mut AnyConnection::Sqlite(connection), &self.path.display(), &fail)
    }

    /// Returns an error if the file is a database of another program, and leaves it unchanged. If a read-only
    /// connection cannot tell, the later steps, which may write, decide.
    fn refuse_foreign(&self) -> Result<(), OpenError> {
        match self.open_for_inspection().map(|file| is_foreign(&mut AnyConnection::Sqlite(file))) {
            Ok(Ok(true)) => Err(OpenError::Foreign(self.path.clone())),
            Ok(Ok(false) | Err(_)) | Err(_) => Ok(()),
        }
    }
}

impl PostgresOptions {
    /// Applies pending migrations atomically, and returns their names. Blocks the thread; concurrent calls of other
    /// nodes wait.
    pub fn migrate(&self) -> Result<Vec<String>, OpenError> {
        let connection = self.connect_checked(Purpose::Bulk)?;
        let fail = |cause| self.open_error(cause);
        apply(&mut AnyConnection::Postgres(connection), &self.address(), &fail)
    }
}

/// Applies pending migrations in one transaction. An early return drops the connection, which rolls it back.
fn apply(
    db: &mut AnyConnection,
    database: &dyn Display,
    fail: &dyn Fn(Cause) -> OpenError,
) -> Result<Vec<String>, OpenError> {
    let fault = |error: DatabaseError| fail(error.into());
    match db {
        AnyConnection::Sqlite(_) => db.begin_writing(Access::All),
        AnyConnection::Postgres(db) => {
            AnsiTransactionManager::begin_transaction_sql(db, postgres::connect::BEGIN_MIGRATION)
        }
    }
    .map_err(fault)?;
    let done = applied(db).map_err(fault)?;
    refuse_newer(&done, database)?;
    if !are_complete(&done) {
        let ran = match db {
            AnyConnection::Sqlite(db) => db.run_pending_migrations(sqlite::migration::STEPS).map(drop),
            AnyConnection::Postgres(db) => db.run_pending_migrations(postgres::migration::STEPS).map(drop),
        };
        ran.map_err(|cause| {
            let message = cause.to_string();
            // Tables that exist already or are missing; anything else is an error of the server.
            let is_altered = ["already exists", "does not exist"].iter().any(|words| message.contains(words));
            match db {
                AnyConnection::Postgres(_) if !is_altered => fail(cause),
                AnyConnection::Sqlite(_) | AnyConnection::Postgres(_) => altered(database, message),
            }
        })?;
    }
    // Tables that were created just now need no comparison.
    if !done.is_empty()
        && let Some(difference) = difference(db).map_err(fail)?
    {
        return Err(altered(database, difference));
    }
    if let AnyConnection::Postgres(db) = db {
        postgres::migration::set_fill_factor(db).map_err(fault)?;
    }
    db.commit().map_err(fault)?;
    Ok(lacking(&done))
}
