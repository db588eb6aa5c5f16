//! Unreadable rows: they are skipped, counted, and logged once.
//!
//! A row can become invalid: a rule became stricter after it was written, or an operator changed it by hand. One such
//! row must not fail the others, so every list and every lookup passes here. Only a lookup of a single session or grant
//! returns an error, because access is never granted on a guess.

use super::{row::Row, row::RowKey};
use crate::failure::RowError;
use std::{
    collections::HashSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Tables whose rows become values.
const TABLES: [&str; 17] = [
    "blocked",
    "changes",
    "clusters",
    "feedback",
    "grants",
    "guilds",
    "members",
    "notices",
    "outlines",
    "periods",
    "sessions",
    "settings",
    "settings_edits",
    "settings_schema",
    "staff",
    "subscriptions",
    "team",
];

/// Maximum number of rows that are logged by key. Further ones are only counted, to bound memory and log size.
const MAX_LOGGED: usize = 1000;

/// Rows skipped since the storage was opened.
#[derive(Default)]
pub(crate) struct Unreadable {
    counts: [AtomicU64; TABLES.len()],
    logged: Mutex<HashSet<(&'static str, String)>>,
}

impl Unreadable {
    /// Returns the values of the readable rows.
    pub(crate) fn all<R: Row, T: TryFrom<R, Error = RowError>>(&self, rows: Vec<R>) -> Vec<T> {
        rows.into_iter().filter_map(|row| self.one(row)).collect()
    }

    /// Returns the value of a row, or `None` if it is unreadable.
    pub(crate) fn one<R: Row, T: TryFrom<R, Error = RowError>>(&self, row: R) -> Option<T> {
        let key = row.key();
        self.accept(&key, T::try_from(row))
    }

    /// Returns the value that was read, or counts and logs the error and returns `None`.
    pub(crate) fn accept<T>(&self, key: &RowKey, read: Result<T, RowError>) -> Option<T> {
        read.map_err(|RowError { table, column }| {
            self.count(table);
            let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
            let key = key.to_string();
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
        if let Some((_, count)) = TABLES.iter().zip(&self.counts).find(|(known, _)| **known == table) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// Returns how often rows of each table were skipped.
    pub(crate) fn counts(&self) -> Vec<(&'static str, u64)> {
        TABLES.iter().zip(&self.counts).map(|(table, count)| (*table, count.load(Relaxed))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leave_out(unreadable: &Unreadable, table: &'static str, key: &RowKey) {
        assert_eq!(unreadable.accept::<()>(key, Err(RowError { table, column: "any" })), None);
    }

    fn logged(unreadable: &Unreadable) -> usize {
        unreadable.logged.lock().unwrap().len()
    }

    #[test]
    fn counts_every_row_and_logs_each_once_up_to_a_limit() {
        let unreadable = Unreadable::default();
        for _ in 0..3 {
            leave_out(&unreadable, "team", &RowKey::from((&1,)));
            leave_out(&unreadable, "staff", &RowKey::from((&1,)));
        }
        assert_eq!(logged(&unreadable), 2);
        for number in 0..5000 {
            leave_out(&unreadable, "feedback", &RowKey::from((&number.to_string(),)));
        }
        assert_eq!(logged(&unreadable), MAX_LOGGED);
        let counts = unreadable.counts();
        for expected in [("team", 3), ("staff", 3), ("feedback", 5000), ("guilds", 0)] {
            assert!(counts.contains(&expected), "{counts:?}");
        }
    }
}
