//! Bringing the schema up to date, and refusing what is not ours.

use super::{fault::open_error, options::PostgresOptions};
use crate::{
    error::OpenError,
    migration::{self, Object, Steps},
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

/// Every step there is, in order.
pub(crate) const STEPS: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");

/// Lets one node at a time look at and change the schema. Databases with several schemas have a lock for each.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1129270093, hashtext(current_schema()))";

pub(super) const CURRENT: &str = "current_schema()::text";

/// The [`digest`] of what the steps create, so that an unaltered database need not be compared with tables made for that. A
/// server that describes tables in other words costs the comparison, nothing more.
pub(super) const DIGEST: u64 = 0x85e5_9ee5_f5f5_7f7b;

impl PostgresOptions {
    /// The names of the steps that the database still lacks, without touching it. Blocks until it is done, like the
    /// next.
    pub fn pending(&self) -> Result<Vec<String>, OpenError> {
        let mut connection = self.connect_migration()?;
        let applied = applied(&mut connection).map_err(|error| self.fail(error))?;
        steps().refuse_newer(&applied, &self.address())?;
        Ok(steps().lacking(&applied))
    }

    /// Applies the steps that the database lacks: all of them or none. Others that want the same meanwhile wait.
    /// Returns the names of the steps applied.
    pub fn migrate(&self) -> Result<Vec<String>, OpenError> {
        type Transaction = <PgConnection as Connection>::TransactionManager;
        let mut connection = self.connect_migration()?;
        self.refuse_encoding(&mut connection)?;
        Transaction::begin_transaction_sql(&mut connection, "BEGIN ISOLATION LEVEL READ COMMITTED")
            .and_then(|()| connection.batch_execute(LOCK))
            .map_err(|error| self.fail(error))?;
        let done = applied(&mut connection).map_err(|error| self.fail(error))?;
        steps().refuse_newer(&done, &self.address())?;
        // Leaving early drops the connection, and the open transaction with it.
        if !steps().are(&done) {
            connection.run_pending_migrations(STEPS).map_err(|cause| self.failed_step(cause))?;
        }
        // Tables that were just created are as the steps create them.
        let difference = if done.is_empty() {
            None
        } else {
            difference(&mut connection).map_err(|cause| self.fail(cause))?
        };
        if let Some(difference) = difference {
            return Err(self.altered(difference));
        }
        leave_room(&mut connection).map_err(|error| self.fail(error))?;
        Transaction::commit_transaction(&mut connection).map_err(|error| self.fail(error))?;
        Ok(steps().lacking(&done))
    }

    pub(super) fn fail(&self, cause: impl Into<Cause>) -> OpenError {
        open_error(&self.address(), cause)
    }

    /// A step fails where its tables exist already; anything else is the server's doing.
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

/// The versions of the steps that the database says it has.
pub(crate) fn applied(connection: &mut PgConnection) -> QueryResult<Vec<String>> {
    if !sql::<Bool>("SELECT to_regclass('__diesel_schema_migrations') IS NOT NULL").get_result(connection)? {
        return Ok(Vec::new());
    }
    sql::<Text>("SELECT version::text FROM __diesel_schema_migrations ORDER BY version").load(connection)
}

/// Whether the database has exactly the steps that there are.
pub(crate) fn is_complete(connection: &mut PgConnection) -> QueryResult<bool> {
    Ok(steps().are(&applied(connection)?))
}

/// Leaves a tenth of each page of the tables that syncs change rows of for newer versions of these rows. A version that
/// is on the same page as the one before needs no new entry in any index. It is no step of the schema, since nodes of
/// every version work with it; a value that an operator has chosen stays.
fn leave_room(connection: &mut PgConnection) -> QueryResult<()> {
    let full: Vec<String> = sql::<Text>(
        "SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace
         AND relname IN ('guilds', 'members', 'feedback') AND reloptions IS NULL",
    )
    .load(connection)?;
    full.iter()
        .try_for_each(|table| connection.batch_execute(&format!("ALTER TABLE {table} SET (fillfactor = 90)")))
}

/// The first thing in which the tables differ from those that the steps make. The steps are made once more, as
/// temporary tables that nobody else sees and that go away again. Tables of others are none of our business.
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

/// FNV-1a: a fingerprint against accidents, not against attacks.
pub(super) fn digest(objects: &[Object]) -> u64 {
    let text = format!("{objects:?}");
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The tables of a schema with their columns and constraints, and the indexes on them.
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
    fn the_digest_is_that_of_what_the_steps_create() {
        let mut connection =
            PgConnection::establish(&std::env::var(xtask::postgres::VARIABLE).unwrap()).unwrap();
        // Gone with the connection.
        connection.batch_execute("BEGIN; CREATE SCHEMA digested; SET search_path = digested").unwrap();
        connection.run_pending_migrations(STEPS).unwrap();
        let digest = digest(&objects(&mut connection, CURRENT).unwrap());
        assert_eq!(digest, DIGEST, "write this down: {digest:#x}");
    }

    #[cfg(feature = "sqlite")]
    #[test]
    fn both_databases_have_steps_of_the_same_names() {
        let sqlite = Steps::of::<diesel::sqlite::Sqlite>(&crate::sqlite::migration::STEPS).lacking(&[]);
        assert!(!sqlite.is_empty());
        assert_eq!(Steps::of::<Pg>(&STEPS).lacking(&[]), sqlite);
    }
}
