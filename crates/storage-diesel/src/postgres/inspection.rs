//! Inspects a database on a server without changing it.

use super::{
    migration::{applied, steps},
    options::PostgresOptions,
};
use crate::{
    error::OpenError,
    inspection::{Inspection, LAST_REPORT, NEWEST_SEALED, SealedColumns, sealed},
    purpose::Purpose,
};
use companion_domain::model::Timestamp;
use diesel::{
    PgConnection, RunQueryDsl,
    connection::SimpleConnection,
    dsl::sql,
    sql_types::{BigInt, Nullable},
};
use std::time::{Duration, Instant};

/// Creates a table in a transaction that is rolled back. It succeeds if the user may create tables and the server
/// accepts writes.
const WRITE: &str =
    "BEGIN; CREATE TABLE companion_doctor (n bigint); INSERT INTO companion_doctor VALUES (1)";

impl PostgresOptions {
    /// Inspects the database without leaving a trace in it. Blocks the thread.
    pub fn inspect(&self) -> Result<Inspection, OpenError> {
        let mut connection = self.connect_checked(Purpose::Write)?;
        self.refuse_encoding(&mut connection)?;
        let fail = |error| self.fail(error);
        let done = applied(&mut connection).map_err(fail)?;
        steps().refuse_newer(&done, &self.address())?;
        let pending = steps().lacking(&done);
        let last_report: Option<i64> = if pending.is_empty() {
            sql::<Nullable<BigInt>>(LAST_REPORT).get_result(&mut connection).map_err(fail)?
        } else {
            None
        };
        let sealed = if pending.is_empty() {
            sealed(sql::<SealedColumns>(NEWEST_SEALED).load(&mut connection).map_err(fail)?)
        } else {
            Vec::new()
        };
        let write = Some(write(&mut connection).map_err(fail)?);
        let last_report = last_report.map(Timestamp::from_micros);
        Ok(Inspection { pending, applied: done.len(), last_report, write, sealed })
    }
}

fn write(connection: &mut PgConnection) -> diesel::QueryResult<Duration> {
    let begun = Instant::now();
    connection.batch_execute(WRITE)?;
    connection.batch_execute("ROLLBACK")?;
    Ok(begun.elapsed())
}
