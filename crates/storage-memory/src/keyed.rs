//! What tables of one key and one value have in common.

use crate::journal::Journal;
use companion_domain::change::{Subject, Tally};
use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    hash::Hash,
};

/// A table whose rows are written one by one, and whose changes are named by key.
pub(crate) trait Table {
    type Key: Ord + Clone;
    type Row;

    /// Returns the keys of all rows, in any order.
    fn keys(&self) -> Vec<Self::Key>;

    fn set(&mut self, key: Self::Key, row: Self::Row) -> Tally;

    fn unset(&mut self, key: &Self::Key) -> Tally;

    /// Returns the subject of a change to this row.
    fn subject(&self, key: &Self::Key) -> Subject;

    /// Adds or replaces a row, and notes the change unless the row is equal.
    fn put(&mut self, key: Self::Key, row: Self::Row, journal: &mut Journal) -> Tally {
        let subject = self.subject(&key);
        noted(self.set(key, row), subject, journal)
    }

    /// Removes a row, and notes the change if the row existed.
    fn remove(&mut self, key: &Self::Key, journal: &mut Journal) -> Tally {
        noted(self.unset(key), self.subject(key), journal)
    }

    /// Puts all these rows; with `replace`, removes all others.
    fn merge(&mut self, rows: BTreeMap<Self::Key, Self::Row>, replace: bool, journal: &mut Journal) -> Tally {
        let mut tally = Tally::NOTHING;
        if replace {
            for key in self.keys().iter().filter(|key| !rows.contains_key(key)) {
                tally += self.remove(key, journal);
            }
        }
        for (key, row) in rows {
            tally += self.put(key, row, journal);
        }
        tally
    }
}

/// A table that is a plain map.
pub(crate) struct Rows<K, R> {
    rows: HashMap<K, R>,
    subject: fn(K) -> Subject,
}

impl<K: Eq + Hash, R> Rows<K, R> {
    pub(crate) fn new(subject: fn(K) -> Subject) -> Self {
        Self { rows: HashMap::new(), subject }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&R> {
        self.rows.get(key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &R)> {
        self.rows.iter()
    }
}

impl<K: Ord + Clone + Hash, R: PartialEq> Table for Rows<K, R> {
    type Key = K;
    type Row = R;

    fn keys(&self) -> Vec<K> {
        self.rows.keys().cloned().collect()
    }

    fn set(&mut self, key: K, row: R) -> Tally {
        set(&mut self.rows, key, row)
    }

    fn unset(&mut self, key: &K) -> Tally {
        removal_tally(self.rows.remove(key))
    }

    fn subject(&self, key: &K) -> Subject {
        (self.subject)(key.clone())
    }
}

/// Notes a change, unless the tally is empty. Returns the tally.
pub(crate) fn noted(tally: Tally, subject: Subject, journal: &mut Journal) -> Tally {
    if tally != Tally::NOTHING {
        journal.note(subject);
    }
    tally
}

/// Puts a row into a map, and returns what changed.
pub(crate) fn set<K: Eq + Hash, V: PartialEq>(rows: &mut HashMap<K, V>, key: K, row: V) -> Tally {
    match rows.entry(key) {
        Entry::Occupied(kept) if *kept.get() == row => Tally::NOTHING,
        Entry::Occupied(mut kept) => {
            kept.insert(row);
            Tally::CHANGED
        }
        Entry::Vacant(free) => {
            free.insert(row);
            Tally::ADDED
        }
    }
}

/// Returns the tally of a removal, given the removed row.
pub(crate) fn removal_tally<T>(removed: Option<T>) -> Tally {
    removed.map_or(Tally::NOTHING, |_| Tally::REMOVED)
}
