//! Applies migrations, and rejects databases that are not of this program.

use super::{fault::open_error, options::PostgresOptions};
use crate::{
    error::OpenError,
    migration::{self, Object, Steps},
    purpose::Purpose,
};
use companion_domain::port::Cause;
use diesel::{
    Connection, PgConnection, QueryResult, RunQueryDsl,
    connection::{SimpleConnection, TransactionManager},
    dsl::sql,
    pg::Pg,
    sql_query,
    sql_types::{Bool, Text},
};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

/// All migrations, in order.
pub(crate) const STEPS: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");

/// Serialises nodes that check and migrate the schema. Each schema of a database has its own lock.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1129270093, hashtext(current_schema()))";

pub(super) const CURRENT: &str = "current_schema()::text";

/// The [`digest`] of the migrated schema. It spares an unaltered database the comparison with temporary tables. A
/// server that describes tables differently only costs that comparison.
pub(super) const DIGEST: u64 = 0xca22_368c_eb4a_4df3;

impl PostgresOptions {
    /// Applies pending migrations atomically, and returns their names. Blocks the thread; concurrent calls of other
    /// nodes wait.
    pub fn migrate(&self) -> Result<Vec<String>, OpenError> {
        type Transaction = <PgConnection as Connection>::TransactionManager;
        let mut connection = self.connect_checked(Purpose::Bulk)?;
        self.refuse_encoding(&mut connection)?;
        Transaction::begin_transaction_sql(&mut connection, "BEGIN ISOLATION LEVEL READ COMMITTED")
            .and_then(|()| connection.batch_execute(LOCK))
            .map_err(|error| self.fail(error))?;
        let done = applied(&mut connection).map_err(|error| self.fail(error))?;
        steps().refuse_newer(&done, &self.address())?;
        // An early return drops the connection, which rolls the transaction back.
        if !steps().are_exactly(&done) {
            connection.run_pending_migrations(STEPS).map_err(|cause| self.failed_step(cause))?;
        }
        // Tables that were created just now need no comparison.
        let difference = if done.is_empty() {
            None
        } else {
            difference(&mut connection).map_err(|cause| self.fail(cause))?
        };
        if let Some(difference) = difference {
            return Err(self.altered(difference));
        }
        set_fill_factor(&mut connection).map_err(|error| self.fail(error))?;
        Transaction::commit_transaction(&mut connection).map_err(|error| self.fail(error))?;
        Ok(steps().lacking(&done))
    }

    pub(super) fn fail(&self, cause: impl Into<Cause>) -> OpenError {
        open_error(&self.address(), cause)
    }

    /// Maps the error of a migration. Tables that exist already or are missing mean an altered schema; anything else is
    /// an error of the server.
    fn failed_step(&self, cause: Cause) -> OpenError {
        let message = cause.to_string();
        if message.contains("already exists") || message.contains("does not exist") {
            return self.altered(message);
        }
        self.fail(cause)
    }

    pub(super) fn refuse_encoding(&self, connection: &mut PgConnection) -> Result<(), OpenError> {
        let encoding: String = sql::<Text>("SELECT current_setting('server_encoding')")
            .get_result(connection)
            .map_err(|error| self.fail(error))?;
        if encoding == "UTF8" {
            return Ok(());
        }
        Err(OpenError::Encoding { database: self.address().to_string(), encoding })
    }

    fn altered(&self, difference: String) -> OpenError {
        OpenError::Altered { database: self.address().to_string(), difference }
    }
}

pub(super) fn steps() -> Steps {
    Steps::of::<Pg>(&STEPS)
}

/// Returns the versions of the migrations recorded in the database.
pub(crate) fn applied(connection: &mut PgConnection) -> QueryResult<Vec<String>> {
    if !sql::<Bool>("SELECT to_regclass('__diesel_schema_migrations') IS NOT NULL").get_result(connection)? {
        return Ok(Vec::new());
    }
    sql::<Text>("SELECT version::text FROM __diesel_schema_migrations ORDER BY version").load(connection)
}

/// Returns whether exactly the known migrations are applied.
pub(crate) fn is_complete(connection: &mut PgConnection) -> QueryResult<bool> {
    Ok(steps().are_exactly(&applied(connection)?))
}

/// Sets a fill factor of 90 % on the tables whose rows syncs update. A new row version on the same page needs no new
/// index entry (a HOT update). This is not a migration, because nodes of every version can work with it. A value chosen
/// by the operator is kept.
fn set_fill_factor(connection: &mut PgConnection) -> QueryResult<()> {
    let full: Vec<String> = sql::<Text>(
        "SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace
         AND relname IN ('guilds', 'members', 'feedback') AND reloptions IS NULL",
    )
    .load(connection)?;
    full.iter()
        .try_for_each(|table| connection.batch_execute(&format!("ALTER TABLE {table} SET (fillfactor = 90)")))
}

/// Returns the first difference between the tables and those that the migrations create. The migrations are run again
/// in a temporary schema and rolled back. Tables of other programs are ignored.
fn difference(connection: &mut PgConnection) -> Result<Option<String>, Cause> {
    let mut found = objects(connection, CURRENT)?;
    if digest(&found) == DIGEST {
        return Ok(None);
    }
    connection.batch_execute("SAVEPOINT comparison; SET LOCAL search_path = pg_temp")?;
    connection.run_pending_migrations(STEPS)?;
    let expected = objects(connection, "(SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema())")?;
    connection.batch_execute("ROLLBACK TO SAVEPOINT comparison; RELEASE SAVEPOINT comparison")?;
    found.retain(|object| expected.iter().any(|other| other.name == object.table_name));
    Ok(migration::difference(&found, &expected))
}

/// Returns the FNV-1a hash, which detects accidental changes but not deliberate ones.
pub(super) fn digest(objects: &[Object]) -> u64 {
    let text = format!("{objects:?}");
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Returns the tables of a schema with their columns, constraints and indexes.
pub(super) fn objects(connection: &mut PgConnection, schema: &str) -> QueryResult<Vec<Object>> {
    sql_query(format!(
        "WITH tables AS (
             SELECT c.oid, c.relname::text AS name, quote_ident(n.nspname) || '.' AS schema
             FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
             WHERE n.nspname = {schema} AND c.relkind = 'r')
         SELECT 'table' AS kind, t.name, t.name AS table_name, concat_ws('; ',
             (SELECT string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod),
                     CASE WHEN a.attnotnull THEN 'NOT NULL' END, l.collname), ', ' ORDER BY a.attname)
                 FROM pg_attribute AS a LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
                 WHERE a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped),
             (SELECT string_agg(replace(pg_get_constraintdef(k.oid), t.schema, ''), ', ' ORDER BY k.conname)
                 FROM pg_constraint AS k WHERE k.conrelid = t.oid AND k.contype IN ('c', 'f', 'p', 'u'))) AS definition
         FROM tables AS t
         UNION ALL
         SELECT 'index', i.relname::text, t.name, replace(replace(pg_get_indexdef(i.oid), t.schema, ''), 'pg_temp.', '')
         FROM tables AS t JOIN pg_index AS x ON x.indrelid = t.oid JOIN pg_class AS i ON i.oid = x.indexrelid
         ORDER BY 1 DESC, 2"
    ))
    .load(connection)
}

#[cfg(test)]
mod tests {
    use super::{CURRENT, DIGEST, STEPS, digest, objects};
    use crate::migration::Steps;
    use diesel::{Connection, PgConnection, connection::SimpleConnection, pg::Pg};
    use diesel_migrations::MigrationHarness;

    #[test]
    fn digest_matches_the_migrated_schema() {
        let mut connection =
            PgConnection::establish(&std::env::var(xtask::postgres::VARIABLE).unwrap()).unwrap();
        // Rolled back when the connection closes.
        connection.batch_execute("BEGIN; CREATE SCHEMA digested; SET search_path = digested").unwrap();
        connection.run_pending_migrations(STEPS).unwrap();
        let digest = digest(&objects(&mut connection, CURRENT).unwrap());
        assert_eq!(digest, DIGEST, "write this down: {digest:#x}");
    }

    #[test]
    fn both_databases_have_migrations_of_the_same_names() {
        let sqlite = Steps::of::<diesel::sqlite::Sqlite>(&crate::sqlite::migration::STEPS).lacking(&[]);
        assert!(!sqlite.is_empty());
        assert_eq!(Steps::of::<Pg>(&STEPS).lacking(&[]), sqlite);
    }
}
