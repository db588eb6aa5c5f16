//! Unreadable rows: they are skipped, counted, and logged once.
//!
//! A row can become invalid: a rule became stricter after it was written, or an operator changed it by hand. One such
//! row must not fail the others, so every list and every lookup passes here. Only a lookup of a single session, grant or
//! guild's settings returns an error: access is never granted, and nothing is overwritten, on a guess.

use super::{
    records::table_of,
    row::{ChangeRow, ClusterRow, Columns as _, Row, RowKey},
};
use crate::failure::RowError;
use companion_domain::change::Kind;
use std::{
    collections::{BTreeMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Maximum number of rows that are logged by key. Further ones are only counted, to bound memory and log size.
const MAX_LOGGED: usize = 1000;

/// Rows skipped since the storage was opened.
#[derive(Default)]
pub(crate) struct Unreadable(Mutex<Skipped>);

#[derive(Default)]
struct Skipped {
    by_table: BTreeMap<&'static str, u64>,
    logged: HashSet<(&'static str, String)>,
}

impl Unreadable {
    /// Returns the values of the readable rows.
    pub(crate) fn all<R: Row>(&self, rows: &[R]) -> Vec<R::Value> {
        rows.iter().filter_map(|row| self.one(row)).collect()
    }

    /// Returns the value of a row, or `None` if it is unreadable.
    pub(crate) fn one<R: Row>(&self, row: &R) -> Option<R::Value> {
        self.accept(|| row.key(), row.read(self))
    }

    /// Returns the value that was read, or counts and logs the error and returns `None`.
    pub(crate) fn accept<T>(&self, key: impl FnOnce() -> RowKey, read: Result<T, RowError>) -> Option<T> {
        read.map_err(|RowError { table, column }| {
            self.count(table);
            let (key, logged) = (key().to_string(), &mut self.skipped().logged);
            if logged.len() < MAX_LOGGED && logged.insert((table, key.clone())) {
                tracing::warn!(table, column, key, "skipped an unreadable row");
                if logged.len() == MAX_LOGGED {
                    tracing::warn!("too many unreadable rows: further ones are counted, not logged");
                }
            }
        })
        .ok()
    }

    pub(crate) fn count(&self, table: &'static str) {
        *self.skipped().by_table.entry(table).or_default() += 1;
    }

    /// Returns how often rows of each table were skipped.
    pub(crate) fn counts(&self) -> Vec<(&'static str, u64)> {
        let records = Kind::ALL.into_iter().filter_map(table_of);
        let tables = records.chain([ChangeRow::TABLE, ClusterRow::TABLE]).map(|table| (table.name, 0));
        let mut counts: BTreeMap<_, _> = tables.collect();
        counts.extend(&self.skipped().by_table);
        counts.into_iter().collect()
    }

    fn skipped(&self) -> MutexGuard<'_, Skipped> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leave_out(unreadable: &Unreadable, table: &'static str, key: i64) {
        let key = || RowKey(vec![key.into()]);
        assert_eq!(unreadable.accept::<()>(key, Err(RowError { table, column: "any" })), None);
    }

    #[test]
    fn counts_every_row_and_logs_each_once_up_to_a_limit() {
        let unreadable = Unreadable::default();
        for _ in 0..3 {
            leave_out(&unreadable, "team", 1);
            leave_out(&unreadable, "staff", 1);
        }
        assert_eq!(unreadable.skipped().logged.len(), 2);
        for number in 0..5000 {
            leave_out(&unreadable, "feedback", number);
        }
        assert_eq!(unreadable.skipped().logged.len(), MAX_LOGGED);
        let counts = unreadable.counts();
        for expected in [("team", 3), ("staff", 3), ("feedback", 5000), ("guilds", 0)] {
            assert!(counts.contains(&expected), "{counts:?}");
        }
    }
}
