//! Getting the rows that a merge will write ready for it, while others still write.

use super::merge::Merge;
#[cfg(feature = "postgres")]
use super::merge::{Op, each};
use crate::connection::AnyConnection;
use diesel::QueryResult;
#[cfg(feature = "postgres")]
use diesel::{RunQueryDsl, dsl::sql, sql_query, sql_types::BigInt};

/// How many rows are touched at a time. Whoever removes one of them waits until it is done.
#[cfg(feature = "postgres")]
const BATCH: usize = 500;
/// Where more rows differ than this, none is touched: so many hold others up whatever is done beforehand.
#[cfg(feature = "postgres")]
const LIMIT: i64 = 50_000;

impl Merge {
    /// Lets a server read the pages of the rows that will be changed, and log them. After a checkpoint the first write to
    /// a page logs the whole page, even if it only locks a row; for rows all over a table that is most of what changing
    /// them costs. It waits for nobody, and of others only the removal of such a row waits for it, for one batch.
    pub(crate) fn touch(&self, db: &mut AnyConnection) -> QueryResult<()> {
        match db {
            // Nobody but the one that may write can touch anything.
            #[cfg(feature = "sqlite")]
            AnyConnection::Sqlite(_) => Ok(()),
            #[cfg(feature = "postgres")]
            AnyConnection::Postgres(_) => self.lock_briefly(db),
        }
    }

    #[cfg(feature = "postgres")]
    fn lock_briefly(&self, db: &mut AnyConnection) -> QueryResult<()> {
        let (table, differing, keys) = (self.table.name, self.table.differing(), self.table.keys.join(", "));
        let stored = format!("FROM {differing} WHERE op <> {}", Op::Insert.number());
        let rows: i64 = sql::<BigInt>(&format!("SELECT count(*) {stored}")).get_result(db)?;
        if rows > LIMIT {
            return Ok(());
        }
        let same_key = each(self.table.keys.iter().copied(), "d.{} = t.{}", " AND ");
        for offset in (0..rows).step_by(BATCH) {
            sql_query(format!(
                "SELECT count(*) FROM (SELECT 1 FROM {table} AS t
                 JOIN (SELECT {keys} {stored} ORDER BY {keys} LIMIT {BATCH} OFFSET {offset}) AS d ON {same_key}
                 FOR KEY SHARE OF t SKIP LOCKED) AS touched"
            ))
            .execute(db)?;
        }
        Ok(())
    }
}
