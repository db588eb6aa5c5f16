//! How a server finds the rows that a merge changes.

#[cfg(feature = "postgres")]
mod postgres {
    use crate::{
        connection::{Access, AnyConnection},
        postgres::PostgresOptions,
        table::staging::{self, Merge, merge_of},
    };
    use companion_domain::{change::Kind, model::Secret, port::Replace};
    use diesel::{
        Connection, PgConnection, RunQueryDsl, connection::SimpleConnection, dsl::sql, sql_types::Text,
    };

    /// A connection to 20,000 guilds, of which every hundredth is to be changed.
    fn differing(schema: &str) -> (AnyConnection, Merge) {
        let server = std::env::var(xtask::postgres::VARIABLE).unwrap();
        let schema = format!("{schema}_{}", std::process::id());
        let mut connection = PgConnection::establish(&server).unwrap();
        connection
            .batch_execute(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}"))
            .unwrap();
        let more = if server.contains('?') { '&' } else { '?' };
        let url = format!("{server}{more}options=-csearch_path%3D{schema}");
        PostgresOptions::new(Secret::new(url.clone())).migrate().unwrap();
        let mut db = AnyConnection::Postgres(PgConnection::establish(&url).unwrap());
        staging::create(Kind::Guild, &mut db).unwrap();
        let merge = merge_of(Kind::Guild, &Replace::default()).unwrap();
        let differing = merge.table.differing();
        db.batch_execute(&format!(
            "INSERT INTO guilds (id, name, members, owner, setup, linked, bindings)
                 SELECT id, 'A guild with a name of some length', 1, 1, true, true, '' FROM generate_series(1, 20000) AS id;
             INSERT INTO {differing} SELECT 1, * FROM guilds WHERE id % 100 = 0;
             ANALYZE guilds, {differing}"
        ))
        .unwrap();
        (db, merge)
    }

    fn plan(db: &mut AnyConnection, merge: &Merge) -> String {
        let steps: Vec<String> = sql::<Text>(&format!("EXPLAIN {}", merge.update(db))).load(db).unwrap();
        steps.join("\n")
    }

    #[test]
    fn few_rows_that_differ_are_found_without_reading_the_whole_table() {
        let (mut db, merge) = differing("merge_few");
        db.begin_writing(Access::World).unwrap();
        db.assume_cached().unwrap();
        let plan = plan(&mut db, &merge);
        assert!(plan.contains("Index Scan using guilds_pkey"), "{plan}");
        assert!(!plan.contains("Seq Scan on guilds"), "{plan}");
    }

    #[test]
    fn where_most_rows_differ_the_table_is_read_through() {
        let (mut db, merge) = differing("merge_most");
        let differing = merge.table.differing();
        db.batch_execute(&format!("TRUNCATE {differing}; INSERT INTO {differing} SELECT 1, * FROM guilds"))
            .unwrap();
        staging::analyse(&mut db, &[differing]).unwrap();
        db.begin_writing(Access::World).unwrap();
        db.assume_cached().unwrap();
        let plan = plan(&mut db, &merge);
        assert!(plan.contains("Seq Scan on guilds") || plan.contains("Merge Join"), "{plan}");
    }
}
