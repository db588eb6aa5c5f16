//! Rendered entries that are found by their id. Only the writer has it: readers need no more than the numbers.

use super::fragments::{Fragment, Fragments};
use companion_domain::model::FeedbackId;
use hashbrown::{HashTable, hash_table::Entry};
use std::hash::{BuildHasher as _, RandomState};

/// Each part of the index grows by itself, so that no single change waits until an index of a million has grown.
const PARTS: usize = 256;

/// Rendered entries, numbered without holes, and their numbers by id.
pub(super) struct Entries {
    fragments: Fragments,
    /// Numbers alone: the id stands with the entry.
    index: Vec<HashTable<u32>>,
    hasher: RandomState,
}

impl Default for Entries {
    fn default() -> Self {
        let index = std::iter::repeat_with(HashTable::new).take(PARTS).collect();
        Self { fragments: Fragments::default(), index, hasher: RandomState::new() }
    }
}

impl Entries {
    pub(super) const fn fragments(&self) -> &Fragments {
        &self.fragments
    }

    /// What the entries and their index take, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let index: usize = self.index.iter().map(HashTable::allocation_size).sum();
        self.fragments.bytes() + index
    }

    /// Has this entry as it is now: what is sent of it, or nothing.
    pub(super) fn apply(&mut self, id: &FeedbackId, json: Option<&[u8]>) {
        match json {
            Some(json) => self.put(id, json),
            None => self.remove(id),
        }
    }

    fn put(&mut self, id: &FeedbackId, json: &[u8]) {
        let fragment = Fragment { id: id.as_str().as_bytes(), json };
        let Self { fragments, index, hasher } = self;
        let hash = hasher.hash_one(fragment.id);
        let Some(part) = part(index, hash) else { return };
        let (known, rehash) = lookups(fragments, hasher, fragment.id);
        match part.entry(hash, known, rehash) {
            Entry::Occupied(found) => {
                let number = number(*found.get());
                if fragments.get(number) != Some(fragment) {
                    fragments.set(number, fragment);
                }
            }
            Entry::Vacant(free) => {
                if let Ok(next) = u32::try_from(fragments.len()) {
                    free.insert(next);
                    fragments.set(fragments.len(), fragment);
                }
            }
        }
    }

    /// The last entry moves into the gap.
    fn remove(&mut self, id: &FeedbackId) {
        let Self { fragments, index, hasher } = self;
        let id = id.as_str().as_bytes();
        let hash = hasher.hash_one(id);
        let Some(part_of_id) = part(index, hash) else { return };
        let (known, _) = lookups(fragments, hasher, id);
        let Ok(found) = part_of_id.find_entry(hash, known) else { return };
        let (gap, _) = found.remove();
        let last = fragments.len().saturating_sub(1);
        if number(gap) != last
            && let Some(moved) = fragments.get(last)
        {
            let (id, json) = (moved.id.to_vec(), moved.json.to_vec());
            let hash = hasher.hash_one(&*id);
            if let Some(moving) =
                part(index, hash).and_then(|part| part.find_mut(hash, |found| number(*found) == last))
            {
                *moving = gap;
            }
            fragments.set(number(gap), Fragment { id: &id, json: &json });
        }
        fragments.pop();
    }
}

fn number(stored: u32) -> usize {
    usize::try_from(stored).unwrap_or(usize::MAX)
}

/// The part of the index for ids with this hash. The table itself uses the lowest and the highest bits.
fn part(index: &mut [HashTable<u32>], hash: u64) -> Option<&mut HashTable<u32>> {
    index.get_mut(usize::from(hash.to_le_bytes()[5]))
}

/// Whether a number is that of the entry with this id, and the hash of any number's id.
fn lookups<'a>(
    fragments: &'a Fragments,
    hasher: &'a RandomState,
    id: &'a [u8],
) -> (impl Fn(&u32) -> bool + 'a, impl Fn(&u32) -> u64 + 'a) {
    let id_of = |found: &u32| fragments.get(number(*found)).map(|fragment| fragment.id);
    (
        move |found: &u32| id_of(found) == Some(id),
        move |found: &u32| hasher.hash_one(id_of(found).unwrap_or_default()),
    )
}
