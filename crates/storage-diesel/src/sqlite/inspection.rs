//! Inspects a file that may be in use, without changing anything.

use super::{
    fault::open_error,
    migration::{applied, difference, has_content, is_foreign, open_for_inspection, steps},
    options::SqliteOptions,
};
use crate::{
    error::OpenError,
    inspection::{Inspection, LAST_REPORT, NEWEST_SEALED, SealedColumns, sealed},
};
use companion_domain::{model::Timestamp, port::Cause};
use diesel::{
    RunQueryDsl,
    dsl::sql,
    sql_types::{BigInt, Nullable},
};

impl SqliteOptions {
    /// Inspects the database without changing it or its folder. Blocks the thread.
    pub fn inspect(&self) -> Result<Inspection, OpenError> {
        if !has_content(&self.path)? {
            return Err(OpenError::Missing { path: self.path.clone() });
        }
        let found = open_for_inspection(&self.path, self.max_read_wait).and_then(|mut connection| {
            if is_foreign(&mut connection)? {
                return Ok(None);
            }
            let done = applied(&mut connection)?;
            let pending = steps().lacking(&done);
            let newer = steps().refuse_newer(&done, &self.path.display());
            let complete = pending.is_empty() && newer.is_ok();
            let last_report: Option<i64> = if complete {
                sql::<Nullable<BigInt>>(LAST_REPORT).get_result(&mut connection)?
            } else {
                None
            };
            let sealed = if complete {
                sealed(sql::<SealedColumns>(NEWEST_SEALED).load(&mut connection)?)
            } else {
                Vec::new()
            };
            let difference = if complete { difference(&mut connection)? } else { None };
            let last_report = last_report.map(Timestamp::from_micros);
            let inspection = Inspection { pending, applied: done.len(), last_report, write: None, sealed };
            Ok(Some((inspection, newer, difference)))
        });
        let found = found.map_err(|cause: Cause| open_error(&self.path, cause))?;
        let (inspection, newer, difference) =
            found.ok_or_else(|| OpenError::Foreign { path: self.path.clone() })?;
        newer?;
        match difference {
            Some(difference) => {
                Err(OpenError::Altered { database: self.path.display().to_string(), difference })
            }
            None => Ok(inspection),
        }
    }
}
