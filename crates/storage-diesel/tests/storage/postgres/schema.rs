//! A separate schema for each test, on a shared server.

use crate::shared::Place;
use companion_domain::model::Secret;
use companion_storage_diesel::{DieselStorage, OpenError, PostgresOptions};
use diesel::{
    Connection, PgConnection, RunQueryDsl,
    connection::SimpleConnection,
    dsl::sql,
    sql_query,
    sql_types::{BigInt, Bool, Nullable, Text},
};
use std::{
    num::NonZeroU32,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the address of the test server.
pub(crate) fn server() -> String {
    std::env::var(xtask::postgres::VARIABLE).unwrap_or_else(|_| {
        panic!(
            "{} is not set: run `cargo xtask test`, or `cargo xtask postgres` for a server to test against",
            xtask::postgres::VARIABLE
        )
    })
}

/// Class of the advisory locks of pooled schemas. The storage uses another.
const POOL_LOCK: u32 = 1;

/// An empty schema for a test.
pub(crate) struct Schema {
    server: String,
    name: String,
    /// The connection that created the schema and drops it, or that holds the lock of a pooled one.
    outside: Mutex<PgConnection>,
    is_pooled: bool,
}

impl Place for Schema {
    type Connection = PgConnection;

    const STEPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/postgres");
    const ALTERATIONS: &[(&str, &str)] = &[
        ("ALTER TABLE staff ALTER COLUMN grants DROP NOT NULL", "table staff differs from the migrations"),
        (
            "ALTER TABLE subscription_guilds DROP CONSTRAINT subscription_guilds_user_id_fkey",
            "table subscription_guilds differs from the migrations",
        ),
    ];

    const AGES: usize = 4;
    const STARTS: usize = 1;

    fn new() -> Self {
        Self::on(&server())
    }

    async fn try_open(&self) -> Result<DieselStorage, OpenError> {
        DieselStorage::open_postgres(self.options()).await
    }

    fn connection(&self) -> PgConnection {
        PgConnection::establish(&self.url()).unwrap()
    }

    fn pending(&self) -> Result<Vec<String>, OpenError> {
        self.options().inspect().map(|found| found.pending)
    }

    fn migrate(&self) -> Result<Vec<String>, OpenError> {
        self.options().migrate()
    }

    fn is_empty(&self) -> bool {
        self.tables() == 0
    }

    fn is_staging(&self) -> bool {
        self.sessions("%staged%") > 0
    }

    fn slots(&self) -> Vec<(i64, Option<i64>)> {
        sql::<(BigInt, Nullable<BigInt>)>("SELECT rating, slot FROM feedback ORDER BY slot")
            .load(&mut self.connection())
            .unwrap()
    }

    fn in_dialect(statements: &str) -> String {
        statements.replace("X'", "'\\x")
    }
}

impl Schema {
    /// Creates a schema on this server.
    pub(crate) fn on(server: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let name = format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let mut outside = PgConnection::establish(server).unwrap();
        // An earlier process with the same id may have been killed.
        outside
            .batch_execute(&format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}"))
            .unwrap();
        Self { server: server.to_owned(), name, outside: Mutex::new(outside), is_pooled: false }
    }

    /// Returns a schema that tests reuse, for tests that only change rows: creating its tables takes longer than most
    /// tests. It is not dropped.
    pub(crate) fn pooled() -> Self {
        let server = server();
        let mut outside = PgConnection::establish(&server).unwrap();
        let mut is_free = |number: &u32| {
            let lock = format!("SELECT pg_try_advisory_lock({POOL_LOCK}, {number})");
            sql::<Bool>(&lock).get_result::<bool>(&mut outside).unwrap()
        };
        let name = format!("companion_test_pool_{}", (0..).find(|number| is_free(number)).unwrap());
        // A statement of the previous test may still run if its client did not wait for it.
        let others = format!("FROM pg_stat_activity WHERE application_name = '{name}'");
        sql_query(format!("SELECT pg_terminate_backend(pid) {others}")).execute(&mut outside).unwrap();
        while sql::<BigInt>(&format!("SELECT count(*) {others}")).get_result::<i64>(&mut outside).unwrap() > 0
        {
        }
        let is_there = format!("SELECT to_regclass('{name}.platform_pause') IS NOT NULL");
        if sql::<Bool>(&is_there).get_result(&mut outside).unwrap() {
            let empty = statements_for_tables(&mut outside, &name, "DELETE FROM %s");
            let first = format!("INSERT INTO {name}.history (id, revision, grant_offset) VALUES (1, 0, 0)");
            // Without the triggers of foreign keys the order does not matter.
            let unordered = "SET session_replication_role = replica";
            outside.batch_execute(&format!("{unordered}; {empty}; {first}")).unwrap();
        } else {
            let anew = format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}");
            outside.batch_execute(&anew).unwrap();
        }
        Self { server, name, outside: Mutex::new(outside), is_pooled: true }
    }

    /// Returns the address of this schema.
    pub(crate) fn url(&self) -> String {
        self.url_at(&self.server)
    }

    /// Returns the address of this schema through another address of the server.
    pub(crate) fn url_at(&self, server: &str) -> String {
        let more = if server.contains('?') { '&' } else { '?' };
        format!("{server}{more}application_name={0}&options=-csearch_path%3D{0}", self.name)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn options(&self) -> PostgresOptions {
        let mut options = PostgresOptions::new(Secret::new(self.url()));
        // Few connections, so that many tests can run at once.
        options.limits.readers = NonZeroU32::new(2).unwrap();
        options
    }

    /// Opens with long timeouts, for tests that must not fail on a busy machine.
    pub(crate) async fn open_patiently(&self) -> DieselStorage {
        let mut options = PostgresOptions { statement_timeout: TIMEOUT, ..self.options() };
        (options.limits.max_read_wait, options.limits.max_write_wait) = (TIMEOUT, TIMEOUT);
        options.limits.readers = NonZeroU32::MIN;
        DieselStorage::open_postgres(options).await.unwrap()
    }

    /// Returns the number of connections to this schema whose last statement matches.
    pub(crate) fn sessions(&self, statement: &str) -> i64 {
        self.count(statement, "count(*)")
    }

    /// Terminates the connections to this schema whose last statement matches, from the server's side.
    pub(crate) fn cut_off(&self, statement: &str) {
        let ended = self.count(statement, "count(pg_terminate_backend(pid))");
        assert!(ended > 0, "no connection was busy with {statement}");
    }

    fn count(&self, statement: &str, what: &str) -> i64 {
        // The server does not list the schema of a connection, but its application name.
        let count = format!(
            "SELECT {what} FROM pg_stat_activity WHERE application_name = '{}' AND query LIKE '{statement}'",
            self.name
        );
        sql::<BigInt>(&count).get_result(&mut PgConnection::establish(&self.server).unwrap()).unwrap()
    }

    /// Returns the number of tables of the schema.
    pub(crate) fn tables(&self) -> i64 {
        let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()";
        sql::<BigInt>(tables).get_result(&mut self.connection()).unwrap()
    }
}

/// Returns one of these statements for each table of a schema.
pub(crate) fn statements_for_tables(outside: &mut PgConnection, schema: &str, statement: &str) -> String {
    let statements = format!(
        "SELECT string_agg(format('{statement}', quote_ident(schemaname) || '.' || quote_ident(tablename)), '; ')
         FROM pg_tables WHERE schemaname = '{schema}' AND tablename <> '__diesel_schema_migrations'"
    );
    sql::<Text>(&statements).get_result(outside).unwrap()
}

impl Drop for Schema {
    fn drop(&mut self) {
        if self.is_pooled {
            return;
        }
        let outside = self.outside.get_mut().unwrap_or_else(PoisonError::into_inner);
        // A stopped server took the schema along, and a lock must not delay the test.
        let _ = outside.batch_execute(&format!(
            "SET client_min_messages = warning; SET lock_timeout = '5s'; DROP SCHEMA {} CASCADE",
            self.name
        ));
    }
}
