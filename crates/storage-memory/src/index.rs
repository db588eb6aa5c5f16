//! Finding rows by something else than their key.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

/// Which rows belong to what, in their order. What has none takes no room.
pub(crate) struct Index<K, V>(HashMap<K, BTreeSet<V>>);

impl<K: Eq + Hash, V: Ord> Index<K, V> {
    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.0.entry(key).or_default().insert(value);
    }

    pub(crate) fn remove(&mut self, key: &K, value: &V) {
        if let Some(values) = self.0.get_mut(key) {
            values.remove(value);
            if values.is_empty() {
                self.0.remove(key);
            }
        }
    }

    pub(crate) fn of<'a>(&'a self, key: &K) -> impl Iterator<Item = &'a V> + use<'a, K, V> {
        self.0.get(key).into_iter().flatten()
    }

    pub(crate) fn has(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }
}

impl<K, V> Default for Index<K, V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}
