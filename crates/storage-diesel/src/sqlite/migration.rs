//! What migrating and inspecting a file need: its migrations, its content and its schema.

use super::{connect, fault::open_error, identity::log_of, options::SqliteOptions};
use crate::{error::OpenError, schema::Object};
use companion_domain::port::Cause;
use diesel::{Connection, QueryResult, RunQueryDsl, SqliteConnection, sql_query};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

/// All migrations, in order.
pub(crate) const STEPS: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

impl SqliteOptions {
    /// Opens the database without changing it or its folder.
    ///
    /// If another process has the file open, it has a log, which is read through the index of that process. Without a
    /// log the file is opened as immutable, because any other mode would create a log.
    pub(crate) fn open_for_inspection(&self) -> Result<SqliteConnection, Cause> {
        let mode = if log_of(&self.path).exists() { connect::READ_ONLY } else { connect::IMMUTABLE };
        connect::open_as(&self.path, self.limits.max_read_wait, mode)
    }
}

/// Returns whether there is a database. An empty file is none, unless it has a log, which means that it was one. A log
/// that belongs to another database is not replayed into a backup.
pub(crate) fn has_content(path: &Path) -> Result<bool, OpenError> {
    let length = |path: &Path| match fs::metadata(path) {
        Ok(data) => Ok(Some(data.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(open_error(path, error)),
    };
    let log = log_of(path);
    let lost = |cause: &str| Err(OpenError::Damaged(path.to_owned(), cause.into()));
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

/// Returns the tables and indexes of a database, and those of a freshly migrated one.
pub(crate) fn found_and_expected(
    connection: &mut SqliteConnection,
) -> Result<(Vec<Object>, Vec<Object>), Cause> {
    let mut fresh = SqliteConnection::establish(":memory:")?;
    fresh.run_pending_migrations(STEPS)?;
    Ok((objects(connection)?, objects(&mut fresh)?))
}

pub(crate) fn objects(connection: &mut SqliteConnection) -> QueryResult<Vec<Object>> {
    sql_query(
        "SELECT type AS kind, name, tbl_name AS table_name, coalesce(sql, '') AS definition FROM sqlite_schema
         WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type DESC, name",
    )
    .load(connection)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::STEPS;
    use crate::schema::{ColumnType, TABLES};
    use diesel::{
        Connection, RunQueryDsl, SqliteConnection,
        connection::SimpleConnection as _,
        dsl::sql,
        sql_types::{BigInt, Bool, Text},
    };
    use diesel_migrations::MigrationHarness;
    use std::collections::BTreeSet;

    /// Table, name and type of each column, and whether it may be null.
    pub(crate) type Columns = BTreeSet<(String, String, String, bool)>;

    fn columns(connection: &mut SqliteConnection) -> Columns {
        let rows: Vec<(String, String, String, bool)> = sql::<(Text, Text, Text, Bool)>(
            "SELECT t.name, c.name, c.type, c.\"notnull\" = 0
             FROM pragma_table_list AS t JOIN pragma_table_info(t.name) AS c
             WHERE t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND t.name <> '__diesel_schema_migrations'",
        )
        .load(connection)
        .unwrap();
        rows.into_iter().collect()
    }

    /// Returns the columns of Diesel's schema, with the types of SQLite.
    pub(crate) fn expected() -> Columns {
        let columns =
            TABLES.iter().flat_map(|(table, columns)| columns.iter().map(move |column| (table, column)));
        let found = columns.map(|(table, column)| {
            let kind = match column.holds {
                ColumnType::BigInt | ColumnType::Bool => "INTEGER",
                ColumnType::Text => "TEXT",
                ColumnType::Binary => "BLOB",
            };
            ((*table).to_owned(), column.name.to_owned(), kind.to_owned(), column.nullable)
        });
        found.collect()
    }

    #[test]
    fn migrations_yield_the_diesel_schema() {
        let mut connection = SqliteConnection::establish(":memory:").unwrap();
        connection.run_pending_migrations(STEPS).unwrap();
        assert_eq!(columns(&mut connection), expected());
    }

    #[test]
    fn the_number_of_the_newest_change_survives_the_loss_of_its_column() {
        for (newest_row, expected) in [("43", vec![(43, "team")]), ("42", vec![(42, "team"), (43, "none")])] {
            let mut connection = SqliteConnection::establish(":memory:").unwrap();
            for _ in 1..13 {
                connection.run_next_migration(STEPS).unwrap();
            }
            let changes = format!("INSERT INTO changes VALUES ({newest_row}, 'team', '*')");
            connection.batch_execute(&format!("UPDATE history SET revision = 43; {changes}")).unwrap();
            connection.run_pending_migrations(STEPS).unwrap();
            let rows = sql::<(BigInt, Text)>("SELECT revision, kind FROM changes ORDER BY revision");
            let rows: Vec<(i64, String)> = rows.load(&mut connection).unwrap();
            let rows: Vec<_> = rows.iter().map(|(revision, kind)| (*revision, kind.as_str())).collect();
            assert_eq!(rows, expected);
        }
    }
}
