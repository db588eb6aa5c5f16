//! A separate database file for each test.

use crate::shared::{Place, ages::steps};
use companion_storage_diesel::{DieselStorage, Limits, OpenError, SqliteOptions};
use diesel::{
    Connection, RunQueryDsl, SqliteConnection,
    dsl::sql,
    sql_types::{BigInt, Nullable},
};
use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(30);

/// A folder that is removed after the test.
pub(crate) struct Folder(TempDir);

impl Place for Folder {
    type Connection = SqliteConnection;

    const STEPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/sqlite");
    const ALTERATIONS: &[(&str, &str)] = &[("CREATE TABLE other (id INTEGER)", "table other is unexpected")];

    const AGES: usize = 1;
    /// Several, so that two threads enable the log at the same moment.
    const STARTS: usize = 5;

    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    async fn try_open(&self) -> Result<DieselStorage, OpenError> {
        DieselStorage::open(self.options()).await
    }

    fn connection(&self) -> SqliteConnection {
        SqliteConnection::establish(self.file().to_str().unwrap()).unwrap()
    }

    fn pending(&self) -> Result<Vec<String>, OpenError> {
        match self.options().inspect() {
            Err(OpenError::Missing { .. }) => Ok(steps::<Self>()),
            found => found.map(|found| found.pending),
        }
    }

    fn migrate(&self) -> Result<Vec<String>, OpenError> {
        self.options().migrate()
    }

    fn is_empty(&self) -> bool {
        !self.file().exists()
    }

    fn is_staging(&self) -> bool {
        false
    }

    fn slots(&self) -> Vec<(i64, Option<i64>)> {
        sql::<(BigInt, Nullable<BigInt>)>("SELECT rating, slot FROM feedback ORDER BY slot")
            .load(&mut self.connection())
            .unwrap()
    }

    fn in_dialect(statements: &str) -> String {
        statements.to_owned()
    }
}

impl Folder {
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("companion.db")
    }

    pub(crate) fn options(&self) -> SqliteOptions {
        self.limited(|_| {})
    }

    /// Returns options with changed limits.
    pub(crate) fn limited(&self, change: impl FnOnce(&mut Limits)) -> SqliteOptions {
        let mut options = SqliteOptions::new(self.file());
        // Few connections, because tests open many databases.
        options.limits.readers = NonZeroU32::new(2).unwrap();
        change(&mut options.limits);
        options
    }

    /// Opens with long timeouts, for tests that must not fail on a busy machine.
    pub(crate) async fn open_patiently(&self) -> DieselStorage {
        let options = self.limited(|limits| {
            (limits.max_read_wait, limits.max_write_wait) = (TIMEOUT, TIMEOUT);
        });
        DieselStorage::open(options).await.unwrap()
    }
}
