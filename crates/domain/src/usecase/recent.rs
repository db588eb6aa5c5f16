//! A bounded map of the newest entries, which evicts without a search.

use std::{borrow::Borrow, collections::HashMap, hash::Hash, mem};

/// Holds the newest `SIZE` entries for certain, and some older ones: two generations, of which the older goes whole when
/// the younger is full. So an entry costs the same however many there are.
pub(super) struct Recent<K, V, const SIZE: usize> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V, const SIZE: usize> Default for Recent<K, V, SIZE> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<K: Eq + Hash, V, const SIZE: usize> Recent<K, V, SIZE> {
    /// Inserts an entry, in place of an earlier one with the same key.
    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= SIZE && !self.young.contains_key(&key) {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    /// The value of this key, where it is still remembered.
    pub(super) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.young.get(key).or_else(|| self.old.get(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_remembered_and_there_are_never_more_than_twice_as_many() {
        let mut recent = Recent::<u32, u32, 100>::default();
        for number in 0..10_000 {
            recent.insert(number, number * 2);
            assert!(recent.young.len() <= 100 && recent.old.len() <= 100);
            for remembered in number.saturating_sub(99)..=number {
                assert_eq!(recent.get(&remembered), Some(&(remembered * 2)));
            }
        }
        assert_eq!(recent.get(&9_000), None);
    }

    #[test]
    fn what_is_remembered_again_is_new_again_and_counts_once() {
        let mut recent = Recent::<u32, char, 2>::default();
        for value in ['a', 'b', 'c', 'd', 'e'] {
            recent.insert(1, value);
        }
        recent.insert(2, 'x');
        recent.insert(3, 'y');
        recent.insert(1, 'f');
        recent.insert(4, 'z');
        assert_eq!(
            [1, 2, 3, 4].map(|key| recent.get(&key).copied()),
            [Some('f'), None, Some('y'), Some('z')]
        );
    }
}
