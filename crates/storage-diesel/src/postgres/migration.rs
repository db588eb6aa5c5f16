//! What migrating a database on a server needs: its migrations, its schema and its storage parameters.

use crate::schema::{Object, POSTGRES_DIGEST};
use companion_domain::port::Cause;
use diesel::{
    PgConnection, QueryResult, RunQueryDsl, connection::SimpleConnection, dsl::sql, sql_query,
    sql_types::Text,
};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

/// All migrations, in order.
pub(crate) const STEPS: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");

pub(super) const CURRENT: &str = "current_schema()::text";

/// Sets a fill factor of 90 % on the tables whose rows syncs update. A new row version on the same page needs no new
/// index entry (a HOT update). This is not a migration, because nodes of every version can work with it. A value chosen
/// by the operator is kept.
pub(crate) fn set_fill_factor(connection: &mut PgConnection) -> QueryResult<()> {
    let full: Vec<String> = sql::<Text>(
        "SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace
         AND relname IN ('guilds', 'members', 'feedback') AND reloptions IS NULL",
    )
    .load(connection)?;
    full.iter()
        .try_for_each(|table| connection.batch_execute(&format!("ALTER TABLE {table} SET (fillfactor = 90)")))
}

/// Returns the tables of the schema and those that the migrations create, or none at all if they are equal. The migrations
/// are run again in a temporary schema and rolled back. Tables of other programs are ignored.
pub(crate) fn found_and_expected(connection: &mut PgConnection) -> Result<(Vec<Object>, Vec<Object>), Cause> {
    let mut found = objects(connection, CURRENT)?;
    if digest(&found) == POSTGRES_DIGEST {
        return Ok((Vec::new(), Vec::new()));
    }
    connection.batch_execute("SAVEPOINT comparison; SET LOCAL search_path = pg_temp")?;
    connection.run_pending_migrations(STEPS)?;
    let expected = objects(connection, "(SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema())")?;
    connection.batch_execute("ROLLBACK TO SAVEPOINT comparison; RELEASE SAVEPOINT comparison")?;
    found.retain(|object| expected.iter().any(|other| other.name == object.table_name));
    Ok((found, expected))
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
    use super::{CURRENT, STEPS, digest, objects};
    use crate::{postgres::scratch::Scratch, schema::POSTGRES_DIGEST, sqlite};
    use diesel::{
        RunQueryDsl,
        backend::Backend,
        dsl::sql,
        migration::{Migration, MigrationSource},
        pg::Pg,
        sql_types::{Bool, Text},
        sqlite::Sqlite,
    };
    use diesel_migrations::{EmbeddedMigrations, MigrationHarness};
    use std::collections::BTreeSet;

    #[test]
    fn migrations_yield_the_digest_and_the_diesel_schema() {
        let schema = Scratch::new("digested");
        let mut connection = schema.connect();
        connection.run_pending_migrations(STEPS).unwrap();
        let digest = digest(&objects(&mut connection, CURRENT).unwrap());
        assert_eq!(digest, POSTGRES_DIGEST, "write this down: {digest:#x}");
        let columns: Vec<(String, String, String, bool)> = sql::<(Text, Text, Text, Bool)>(
            "SELECT table_name::text, column_name::text,
                 CASE data_type WHEN 'bigint' THEN 'INTEGER' WHEN 'boolean' THEN 'INTEGER' WHEN 'text' THEN 'TEXT'
                     WHEN 'bytea' THEN 'BLOB' ELSE data_type END, is_nullable = 'YES'
             FROM information_schema.columns
             WHERE table_schema = current_schema() AND table_name <> '__diesel_schema_migrations'",
        )
        .load(&mut connection)
        .unwrap();
        let mut expected = sqlite::migration::tests::expected();
        expected.insert(("history".to_owned(), "revision".to_owned(), "INTEGER".to_owned(), false));
        assert_eq!(columns.into_iter().collect::<BTreeSet<_>>(), expected);
    }

    fn names<DB: Backend>(steps: &EmbeddedMigrations) -> Vec<String> {
        let steps: Vec<Box<dyn Migration<DB>>> = steps.migrations().unwrap();
        steps.iter().map(|step| step.name().to_string()).collect()
    }

    #[test]
    fn both_databases_have_migrations_of_the_same_names() {
        let sqlite = names::<Sqlite>(&sqlite::migration::STEPS);
        assert!(!sqlite.is_empty());
        assert_eq!(names::<Pg>(&STEPS), sqlite);
    }
}
