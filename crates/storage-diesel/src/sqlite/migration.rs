//! Applies migrations, and rejects databases that are not of this program.

use super::{
    backup::create_private,
    connect::{self, OpenMode},
    fault::open_error,
    identity::log_of,
    options::SqliteOptions,
};
use crate::{
    error::OpenError,
    migration::{self, Object, Steps},
};
use companion_domain::port::Cause;
use diesel::{
    Connection, QueryResult, RunQueryDsl, SqliteConnection,
    connection::{AnsiTransactionManager, TransactionManager},
    dsl::sql,
    sql_query,
    sql_types::{BigInt, Text},
    sqlite::Sqlite,
};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
    time::Duration,
};

/// All migrations, in order.
pub(crate) const STEPS: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

impl SqliteOptions {
    /// Applies pending migrations atomically, and returns their names. Creates the database if it is missing and the
    /// options allow it. Blocks the thread; concurrent calls of other processes wait.
    pub fn migrate(&self) -> Result<Vec<String>, OpenError> {
        let fail = |cause: Cause| open_error(&self.path, cause);
        let has_content = has_content(&self.path)?;
        if !has_content {
            if !self.create {
                return Err(OpenError::Missing { path: self.path.clone() });
            }
            create_private(&self.path).map_err(|error| fail(error.into()))?;
        } else {
            // This comes first, because enabling the write-ahead log writes to the file.
            self.refuse_foreign()?;
        }
        let mut connection = self.connect_durable().map_err(fail)?;
        if has_content {
            // Finding damage now is better than failing a request later.
            connect::check_pages(&mut connection).map_err(fail)?;
        }
        AnsiTransactionManager::begin_transaction_sql(&mut connection, "BEGIN IMMEDIATE")
            .map_err(|error| fail(error.into()))?;
        let done = applied(&mut connection).map_err(|error| fail(error.into()))?;
        steps().refuse_newer(&done, &self.path.display())?;
        // An early return drops the connection, which rolls the transaction back.
        if let Err(cause) = connection.run_pending_migrations(STEPS) {
            return Err(self.altered(cause.to_string()));
        }
        // Tables that were created just now need no comparison.
        let difference = if done.is_empty() { None } else { difference(&mut connection).map_err(fail)? };
        if let Some(difference) = difference {
            return Err(self.altered(difference));
        }
        <SqliteConnection as Connection>::TransactionManager::commit_transaction(&mut connection)
            .map_err(|error| fail(error.into()))?;
        Ok(steps().lacking(&done))
    }

    /// Returns an error if the file is a database of another program, and leaves it unchanged. If a read-only
    /// connection cannot tell, the later steps, which may write, decide.
    fn refuse_foreign(&self) -> Result<(), OpenError> {
        let is_foreign = open_for_inspection(&self.path, self.max_read_wait)
            .and_then(|mut connection| Ok(is_foreign(&mut connection)?));
        match is_foreign {
            Ok(true) => Err(OpenError::Foreign { path: self.path.clone() }),
            Ok(false) | Err(_) => Ok(()),
        }
    }

    fn altered(&self, difference: String) -> OpenError {
        OpenError::Altered { database: self.path.display().to_string(), difference }
    }
}

/// Returns whether there is a database. An empty file is none, unless it has a log, which means that it was one. A log
/// that belongs to another database is not replayed into a backup.
pub(super) fn has_content(path: &Path) -> Result<bool, OpenError> {
    let length = |path: &Path| match fs::metadata(path) {
        Ok(data) => Ok(Some(data.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(open_error(path, error)),
    };
    let log = log_of(path);
    let lost = |cause: &str| Err(OpenError::Damaged { path: path.to_owned(), cause: cause.into() });
    match (length(path)?, length(&log)?.unwrap_or(0)) {
        (None | Some(0), 0) => Ok(false),
        (None, _) => lost("there is no such file, but its write-ahead log is there"),
        (Some(0), _) => lost("the file is empty, but its write-ahead log is not"),
        (Some(_), 0) => Ok(true),
        (Some(_), _) if is_unused_copy(path).map_err(|error| open_error(path, error))? => {
            Err(OpenError::ForeignLog { path: path.to_owned(), log })
        }
        (Some(_), _) => Ok(true),
    }
}

/// Returns whether the file is a backup that was never opened: its header declares no write-ahead log until then.
fn is_unused_copy(path: &Path) -> io::Result<bool> {
    /// Offset of the write version in the header, and its value for a file without a write-ahead log.
    const WRITTEN: usize = 18;
    const WITHOUT_LOG: u8 = 1;
    let mut head = [0; WRITTEN + 1];
    let read = File::open(path)?.read(&mut head)?;
    Ok(read == head.len() && head.ends_with(&[WITHOUT_LOG]))
}

pub(super) fn steps() -> Steps {
    Steps::of::<Sqlite>(&STEPS)
}

/// Returns the versions of the migrations recorded in the database.
pub(crate) fn applied(connection: &mut SqliteConnection) -> QueryResult<Vec<String>> {
    let table = "SELECT count(*) FROM sqlite_schema WHERE name = '__diesel_schema_migrations'";
    if sql::<BigInt>(table).get_result::<i64>(connection)? == 0 {
        return Ok(Vec::new());
    }
    sql::<Text>("SELECT version FROM __diesel_schema_migrations ORDER BY version").load(connection)
}

/// Opens a database without changing it or its folder.
///
/// If another process has the file open, it has a log, which is read through the index of that process. Without a log
/// the file is opened as immutable, because any other mode would create a log.
pub(super) fn open_for_inspection(path: &Path, busy_timeout: Duration) -> Result<SqliteConnection, Cause> {
    let mode = if log_of(path).exists() { OpenMode::ReadOnly } else { OpenMode::Immutable };
    connect::open_as(path, busy_timeout, mode)
}

/// Returns whether the database has tables but not the first migration.
pub(super) fn is_foreign(connection: &mut SqliteConnection) -> QueryResult<bool> {
    Ok(!objects(connection)?.is_empty() && !steps().include_first(&applied(connection)?))
}

/// Returns whether exactly the known migrations are applied.
pub(crate) fn is_complete(connection: &mut SqliteConnection) -> QueryResult<bool> {
    Ok(steps().are_exactly(&applied(connection)?))
}

/// Returns the first difference from a freshly migrated database.
pub(super) fn difference(connection: &mut SqliteConnection) -> Result<Option<String>, Cause> {
    let mut fresh = SqliteConnection::establish(":memory:")?;
    fresh.run_pending_migrations(STEPS)?;
    let (found, expected) = (objects(connection)?, objects(&mut fresh)?);
    Ok(migration::difference(&found, &expected))
}

fn objects(connection: &mut SqliteConnection) -> QueryResult<Vec<Object>> {
    sql_query(
        "SELECT type AS kind, name, tbl_name AS table_name, coalesce(sql, '') AS definition FROM sqlite_schema
         WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type DESC, name",
    )
    .load(connection)
}

#[cfg(test)]
mod tests {
    use super::STEPS;
    use crate::schema::{ColumnType, TABLES};
    use diesel::{
        Connection, QueryableByName, RunQueryDsl, SqliteConnection, sql_query,
        sql_types::{Bool, Text},
    };
    use diesel_migrations::MigrationHarness;
    use std::collections::BTreeSet;

    #[derive(QueryableByName, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Found {
        #[diesel(sql_type = Text)]
        table_name: String,
        #[diesel(sql_type = Text)]
        name: String,
        #[diesel(sql_type = Text)]
        kind: String,
        #[diesel(sql_type = Bool)]
        nullable: bool,
    }

    fn columns(connection: &mut SqliteConnection) -> BTreeSet<Found> {
        let rows: Vec<Found> = sql_query(
            "SELECT t.name AS table_name, c.name, c.type AS kind, c.\"notnull\" = 0 AS nullable
         FROM pragma_table_list AS t JOIN pragma_table_info(t.name) AS c
         WHERE t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND t.name <> '__diesel_schema_migrations'",
        )
        .load(connection)
        .unwrap();
        rows.into_iter().collect()
    }

    fn expected() -> BTreeSet<Found> {
        let columns =
            TABLES.iter().flat_map(|(table, columns)| columns.iter().map(move |column| (table, column)));
        let found = columns.map(|(table, column)| {
            let kind = match column.holds {
                ColumnType::BigInt | ColumnType::Bool => "INTEGER",
                ColumnType::Text => "TEXT",
                ColumnType::Binary => "BLOB",
            };
            Found {
                table_name: (*table).to_owned(),
                name: column.name.to_owned(),
                kind: kind.to_owned(),
                nullable: column.nullable,
            }
        });
        found.collect()
    }

    #[test]
    fn reversible_migrations_yield_the_diesel_schema() {
        let mut connection = SqliteConnection::establish(":memory:").unwrap();
        loop {
            let before = columns(&mut connection);
            if connection.run_next_migration(STEPS).is_err() {
                break;
            }
            let after = columns(&mut connection);
            assert_ne!(before, after);
            connection.revert_last_migration(STEPS).unwrap();
            assert_eq!(columns(&mut connection), before);
            connection.run_next_migration(STEPS).unwrap();
            assert_eq!(columns(&mut connection), after);
        }
        assert_eq!(columns(&mut connection), expected());
    }
}
