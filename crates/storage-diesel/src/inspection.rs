//! Inspects a database without changing it: neither its tables nor its files.

use crate::{
    connection::AnyConnection,
    error::OpenError,
    limits::Purpose,
    migration::{altered, applied, difference, is_foreign, lacking, refuse_newer},
    postgres::PostgresOptions,
    sqlite::{SqliteOptions, migration::has_content},
};
use companion_domain::{
    model::{Timestamp, UserId},
    port::Sealed,
};
use diesel::{
    QueryResult, RunQueryDsl,
    connection::SimpleConnection,
    dsl::sql,
    sql_types::{BigInt, Binary, Nullable},
};
use std::time::{Duration, Instant};

/// What an inspection found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Names of the migrations that are not applied yet.
    pub pending: Vec<String>,
    /// Number of applied migrations.
    pub applied: usize,
    /// Time of the last cluster report. `None` if there is none or the schema is incomplete.
    pub last_report: Option<Timestamp>,
    /// Duration of a write that was rolled back. `None` if a write cannot be tried without leaving a trace.
    pub write: Option<Duration>,
    /// Sealed tokens of the users who signed in last. Empty if the schema is incomplete.
    pub sealed: Vec<(UserId, Sealed)>,
}

impl Inspection {
    /// Reads what the tables hold after these migrations.
    fn of(db: &mut AnyConnection, applied: &[String]) -> QueryResult<Self> {
        let (mut last_report, mut sealed) = (None, Vec::new());
        let pending = lacking(applied);
        if pending.is_empty() {
            last_report = sql::<Nullable<BigInt>>("SELECT max(received_at) FROM clusters")
                .get_result::<Option<i64>>(db)?;
            sealed = newest_sealed(db)?;
        }
        let last_report = last_report.map(Timestamp::from_micros);
        Ok(Self { pending, applied: applied.len(), last_report, write: None, sealed })
    }
}

/// Returns the sealed tokens of the users who signed in last, which show whether a key is the right one. Rows with an
/// invalid user id are skipped.
pub(crate) fn newest_sealed(db: &mut AnyConnection) -> QueryResult<Vec<(UserId, Sealed)>> {
    let newest = sql::<(BigInt, Binary)>(
        "SELECT grants.user_id, grants.tokens
         FROM (SELECT user_id, created_at FROM sessions ORDER BY created_at DESC LIMIT 1000) AS newest
         JOIN grants ON grants.user_id = newest.user_id WHERE grants.tokens IS NOT NULL
         ORDER BY newest.created_at DESC LIMIT 20",
    );
    let rows: Vec<(i64, Vec<u8>)> = newest.load(db)?;
    let value = |(user, tokens): (i64, Vec<u8>)| {
        Some((UserId::new(user.cast_unsigned()).ok()?, Sealed::from_bytes(tokens)))
    };
    Ok(rows.into_iter().filter_map(value).collect())
}

impl SqliteOptions {
    /// Inspects the database without changing it or its folder. Blocks the thread.
    pub fn inspect(&self) -> Result<Inspection, OpenError> {
        if !has_content(&self.path)? {
            return Err(OpenError::Missing(self.path.clone()));
        }
        let file = self.open_for_inspection().map_err(|cause| self.open_error(cause))?;
        let (mut db, path) = (AnyConnection::Sqlite(file), self.path.display());
        if is_foreign(&mut db).map_err(|error| self.open_error(error))? {
            return Err(OpenError::Foreign(self.path.clone()));
        }
        let done = applied(&mut db).map_err(|error| self.open_error(error))?;
        refuse_newer(&done, &path)?;
        let found = Inspection::of(&mut db, &done).map_err(|error| self.open_error(error))?;
        if found.pending.is_empty()
            && let Some(difference) = difference(&mut db).map_err(|cause| self.open_error(cause))?
        {
            return Err(altered(&path, difference));
        }
        Ok(found)
    }
}

/// Creates a table in a transaction that is rolled back. It succeeds if the user may create tables and the server
/// accepts writes.
const WRITE: &str =
    "BEGIN; CREATE TABLE companion_doctor (n bigint); INSERT INTO companion_doctor VALUES (1)";

impl PostgresOptions {
    /// Inspects the database without leaving a trace in it. Blocks the thread.
    pub fn inspect(&self) -> Result<Inspection, OpenError> {
        let mut db = AnyConnection::Postgres(self.connect_checked(Purpose::Write)?);
        let done = applied(&mut db).map_err(|error| self.open_error(error))?;
        refuse_newer(&done, &self.address())?;
        let found = Inspection::of(&mut db, &done).map_err(|error| self.open_error(error))?;
        let begun = Instant::now();
        db.batch_execute(WRITE)
            .and_then(|()| db.batch_execute("ROLLBACK"))
            .map_err(|error| self.open_error(error))?;
        Ok(Inspection { write: Some(begun.elapsed()), ..found })
    }
}
