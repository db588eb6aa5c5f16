//! Looking at a file that may be in use, and leaving everything as it was.

use super::{
    connect::{Opening, open_as},
    fault::open_error,
    identity::log_of,
    migration::{applied, difference, has_content, steps},
    options::SqliteOptions,
};
use crate::{
    error::OpenError,
    inspection::{Inspection, LAST_REPORT},
};
use companion_domain::{model::Timestamp, port::Cause};
use diesel::{
    RunQueryDsl,
    dsl::sql,
    sql_types::{BigInt, Nullable},
};

impl SqliteOptions {
    /// Looks at the database without changing a byte of it or of its folder. Blocks until it is done.
    ///
    /// Whoever has the file open keeps a log beside it, and is read beside, on its own index. Where there is no log, nobody
    /// has it open, and it is read as a file that does not change: reading it in any other way would make a log.
    pub fn inspect(&self) -> Result<Inspection, OpenError> {
        if !has_content(&self.path)? {
            return Err(OpenError::Missing { path: self.path.clone() });
        }
        let opening = if log_of(&self.path).exists() { Opening::BesideOthers } else { Opening::Unchanging };
        let found = open_as(&self.path, self.read_patience, opening).and_then(|mut connection| {
            let done = applied(&mut connection)?;
            let pending = steps().lacking(&done);
            let newer = steps().refuse_newer(&done, &self.path.display());
            let complete = pending.is_empty() && newer.is_ok();
            let last_report: Option<i64> = if complete {
                sql::<Nullable<BigInt>>(LAST_REPORT).get_result(&mut connection)?
            } else {
                None
            };
            let difference = if complete { difference(&mut connection)? } else { None };
            let last_report = last_report.map(Timestamp::from_micros);
            let inspection = Inspection { pending, applied: done.len(), last_report, write: None };
            Ok((inspection, newer, difference))
        });
        let (inspection, newer, difference) = found.map_err(|cause: Cause| open_error(&self.path, cause))?;
        newer?;
        match difference {
            Some(difference) => {
                Err(OpenError::Altered { database: self.path.display().to_string(), difference })
            }
            None => Ok(inspection),
        }
    }
}
