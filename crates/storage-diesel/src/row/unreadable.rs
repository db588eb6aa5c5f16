//! Rows that cannot be read: they are left out, counted, and told once.
//!
//! A row can stop to make sense: a rule became stricter after it was written, or someone changed it by hand. One such row
//! must not cost the others, so every list and every look-up of the stores passes here. Only a session or a grant that is
//! asked for by itself fails, as nobody is let in on a guess.

use crate::failure::RowError;
use std::{
    collections::HashSet,
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// The tables whose rows become values.
const TABLES: [&str; 11] = [
    "blocked",
    "changes",
    "clusters",
    "feedback",
    "grants",
    "guilds",
    "members",
    "sessions",
    "staff",
    "subscriptions",
    "team",
];

/// How many rows are told by their key. Further ones are only counted, so that memory and log stay bounded.
const TOLD: usize = 1000;
/// A key of text is told up to this length, should it be what makes no sense.
const LENGTH: usize = 100;

/// A row that can be named.
pub(crate) trait Keyed {
    fn key(&self) -> Key;
}

/// What names a row within its table.
pub(crate) enum Key {
    /// A platform id.
    Id(i64),
    /// Two of them.
    Ids(i64, i64),
    /// Text, or an id and text.
    Text(Option<i64>, String),
    Bytes(Vec<u8>),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{}", id.cast_unsigned()),
            Self::Ids(one, other) => write!(f, "{} {}", one.cast_unsigned(), other.cast_unsigned()),
            Self::Text(id, text) => {
                if let Some(id) = id {
                    write!(f, "{} ", id.cast_unsigned())?;
                }
                text.chars()
                    .take(LENGTH)
                    .flat_map(char::escape_debug)
                    .try_for_each(|char| write!(f, "{char}"))
            }
            Self::Bytes(bytes) => bytes.iter().take(LENGTH).try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

/// What was left out since the storage was opened.
#[derive(Default)]
pub(crate) struct Unreadable {
    counts: [AtomicU64; TABLES.len()],
    told: Mutex<HashSet<(&'static str, String)>>,
}

impl Unreadable {
    /// The values of those rows that can be read.
    pub(crate) fn all<R: Keyed, T: TryFrom<R, Error = RowError>>(&self, rows: Vec<R>) -> Vec<T> {
        rows.into_iter().filter_map(|row| self.one(row)).collect()
    }

    /// The value of a row, if it can be read.
    pub(crate) fn one<R: Keyed, T: TryFrom<R, Error = RowError>>(&self, row: R) -> Option<T> {
        let key = row.key();
        self.accept(&key, T::try_from(row))
    }

    /// What was read of a row; nothing where that failed.
    pub(crate) fn accept<T>(&self, key: &Key, read: Result<T, RowError>) -> Option<T> {
        read.map_err(|RowError { table, column }| {
            self.count(table);
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            let key = key.to_string();
            if told.len() < TOLD && told.insert((table, key.clone())) {
                tracing::warn!(table, column, key, "a stored row cannot be read, and is left out");
                if told.len() == TOLD {
                    tracing::warn!("so many stored rows cannot be read that further ones are only counted");
                }
            }
        })
        .ok()
    }

    /// Counts a row that is left out.
    pub(crate) fn count(&self, table: &'static str) {
        if let Some((_, count)) = TABLES.iter().zip(&self.counts).find(|(known, _)| **known == table) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// How often a row of each table was left out.
    pub(crate) fn counts(&self) -> Vec<(&'static str, u64)> {
        TABLES.iter().zip(&self.counts).map(|(table, count)| (*table, count.load(Relaxed))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leave_out(unreadable: &Unreadable, table: &'static str, key: &Key) {
        assert_eq!(unreadable.accept::<()>(key, Err(RowError { table, column: "any" })), None);
    }

    fn told(unreadable: &Unreadable) -> usize {
        unreadable.told.lock().unwrap().len()
    }

    #[test]
    fn every_row_is_counted_and_each_is_told_once_up_to_a_limit() {
        let unreadable = Unreadable::default();
        for _ in 0..3 {
            leave_out(&unreadable, "team", &Key::Id(1));
            leave_out(&unreadable, "staff", &Key::Id(1));
        }
        assert_eq!(told(&unreadable), 2);
        for number in 0..5000 {
            leave_out(&unreadable, "feedback", &Key::Text(None, number.to_string()));
        }
        assert_eq!(told(&unreadable), TOLD);
        let counts = unreadable.counts();
        for expected in [("team", 3), ("staff", 3), ("feedback", 5000), ("guilds", 0)] {
            assert!(counts.contains(&expected), "{counts:?}");
        }
    }

    #[test]
    fn a_key_is_told_on_one_line_of_bounded_length() {
        assert_eq!(Key::Id(-1).to_string(), u64::MAX.to_string());
        assert_eq!(Key::Ids(1, 2).to_string(), "1 2");
        assert_eq!(Key::Text(Some(7), "a\nb".to_owned()).to_string(), "7 a\\nb");
        assert_eq!(Key::Bytes(vec![0, 255]).to_string(), "00ff");
        assert_eq!(Key::Text(None, "a".repeat(5000)).to_string().len(), LENGTH);
    }
}
