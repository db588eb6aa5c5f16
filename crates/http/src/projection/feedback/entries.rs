//! Rendered entries in pages, indexed by id.
//!
//! A page shared with a snapshot is copied before it is changed, at most once per snapshot. So snapshots are immutable.

use companion_domain::model::FeedbackId;
use hashbrown::{
    HashTable,
    hash_table::Entry::{Occupied, Vacant},
};
use std::{
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

/// Entries per page. A change copies one page and the pointers to all pages; for a million entries, some hundreds per
/// page minimise that.
const PAGE_SIZE: usize = if cfg!(test) { 8 } else { 256 };

/// An entry: its JSON and its id.
struct Entry<'a> {
    json: &'a [u8],
    id: &'a [u8],
}

/// Entries at contiguous positions from 0. All pages but the last are full. Clones share pages.
#[derive(Clone, Default)]
pub(super) struct Pages(Vec<Arc<Page>>);

impl Pages {
    pub(super) fn len(&self) -> usize {
        let last = self.0.last().map_or(PAGE_SIZE, |page| page.ends.len());
        self.0.len() * PAGE_SIZE + last - PAGE_SIZE
    }

    /// Returns the memory of the pages, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let page = |page: &Arc<Page>| page.bytes.capacity() + page.ends.capacity() * size_of::<Ends>();
        self.0.iter().map(page).sum()
    }

    /// Returns the JSON of the entry at this position.
    pub(super) fn json(&self, place: usize) -> Option<&[u8]> {
        self.get(place).map(|entry| entry.json)
    }

    fn get(&self, place: usize) -> Option<Entry<'_>> {
        self.0.get(place / PAGE_SIZE)?.get(place % PAGE_SIZE)
    }

    /// Replaces the entry at `place`, or appends one.
    fn set(&mut self, place: usize, entry: Entry<'_>) {
        if place / PAGE_SIZE == self.0.len() {
            self.0.push(Arc::default());
        }
        if let Some(page) = self.0.get_mut(place / PAGE_SIZE) {
            Arc::make_mut(page).set(place % PAGE_SIZE, entry);
        }
    }

    /// Removes the last entry. Returns its JSON and id.
    fn pop(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        let page = Arc::make_mut(self.0.last_mut()?);
        let popped = page.pop();
        if page.ends.is_empty() {
            self.0.pop();
        }
        popped
    }
}

/// Consecutive entries in one allocation.
#[derive(Clone, Default)]
struct Page {
    bytes: Vec<u8>,
    ends: Vec<Ends>,
}

/// End offsets of an entry's JSON and of the id that follows it.
#[derive(Clone, Copy)]
struct Ends {
    json: usize,
    id: usize,
}

impl Page {
    fn begin(&self, index: usize) -> usize {
        index.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |ends| ends.id)
    }

    fn get(&self, index: usize) -> Option<Entry<'_>> {
        let ends = self.ends.get(index)?;
        let json = self.bytes.get(self.begin(index)..ends.json)?;
        Some(Entry { json, id: self.bytes.get(ends.json..ends.id)? })
    }

    fn set(&mut self, index: usize, Entry { json, id }: Entry<'_>) {
        let begin = self.begin(index);
        let end = self.ends.get(index).map_or(begin, |ends| ends.id);
        if self.ends.len() == PAGE_SIZE {
            // `reserve` would double the capacity instead.
            self.bytes.reserve_exact(json.len() + id.len());
        }
        self.bytes.splice(begin..end, json.iter().chain(id).copied());
        let ends = Ends { json: begin + json.len(), id: begin + json.len() + id.len() };
        match self.ends.get_mut(index) {
            Some(own) => *own = ends,
            None => self.ends.push(ends),
        }
        for later in self.ends.iter_mut().skip(index + 1) {
            later.json = later.json - end + ends.id;
            later.id = later.id - end + ends.id;
        }
        if self.ends.len() == PAGE_SIZE {
            // A full page gets no more entries.
            self.bytes.shrink_to_fit();
        }
    }

    fn pop(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        let ends = self.ends.pop()?;
        let id = self.bytes.split_off(ends.json);
        Some((self.bytes.split_off(self.begin(self.ends.len())), id))
    }
}

/// Entries indexed by id. Only the writer has it; readers need only the pages.
#[derive(Default)]
pub(super) struct Entries {
    pages: Pages,
    index: HashTable<Known>,
    hasher: RandomState,
}

/// The position of an entry. The hash of its id is kept so that the index can grow without reading pages.
struct Known {
    hash: u32,
    place: u32,
}

impl Known {
    const fn place(&self) -> usize {
        self.place as usize
    }

    fn hash(&self) -> u64 {
        spread(self.hash)
    }
}

/// Widens the hash for the index, which uses the lowest and the highest bits.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

impl Entries {
    pub(super) const fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Returns the memory of the index, in bytes.
    pub(super) fn index_bytes(&self) -> usize {
        self.index.allocation_size()
    }

    /// Inserts, replaces or, with `None`, removes an entry. On removal, the last entry moves to its position.
    pub(super) fn apply(&mut self, id: &FeedbackId, json: Option<&[u8]>) {
        let Self { pages, index, hasher } = self;
        let id = id.as_str().as_bytes();
        let hash = hasher.hash_one(id) as u32;
        let is_known = |known: &Known| pages.get(known.place()).is_some_and(|entry| entry.id == id);
        match (index.entry(spread(hash), is_known, Known::hash), json) {
            (Occupied(known), Some(json)) => pages.set(known.get().place(), Entry { json, id }),
            (Vacant(free), Some(json)) => {
                let place = pages.len();
                free.insert(Known { hash, place: place as u32 });
                pages.set(place, Entry { json, id });
            }
            (Occupied(known), None) => {
                let (freed, _) = known.remove();
                let Some((json, id)) = pages.pop() else { return };
                let last = pages.len();
                if freed.place() != last {
                    let hash = spread(hasher.hash_one(&*id) as u32);
                    if let Some(moved) = index.find_mut(hash, |known| known.place() == last) {
                        moved.place = freed.place;
                    }
                    pages.set(freed.place(), Entry { json: &json, id: &id });
                }
            }
            (Vacant(_), None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// Returns the JSON of each entry by id. Asserts that ids are unique and all pages but the last are full.
    fn all(pages: &Pages) -> HashMap<String, String> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let entries = (0..pages.len()).map(|place| pages.get(place).unwrap());
        let all: HashMap<_, _> = entries.map(|entry| (text(entry.id), text(entry.json))).collect();
        assert_eq!(all.len(), pages.len());
        assert_eq!(pages.0.len(), pages.len().div_ceil(PAGE_SIZE));
        for page in pages.0.iter().filter(|page| page.ends.len() == PAGE_SIZE) {
            assert_eq!(page.bytes.capacity(), page.bytes.len());
        }
        all
    }

    /// Returns how many pages of `one` are not shared with `other`.
    fn copied(one: &Pages, other: &Pages) -> usize {
        one.0.iter().filter(|page| !other.0.iter().any(|other| Arc::ptr_eq(page, other))).count()
    }

    proptest! {
        #[test]
        fn entries_match_a_model_and_snapshots_are_immutable(
            steps in proptest::collection::vec((0..40_u8, proptest::option::weighted(0.7, "[a-z]{0,9}")), 0..100),
        ) {
            let (mut entries, mut model) = (Entries::default(), HashMap::new());
            let mut snapshots = vec![(entries.pages().clone(), model.clone())];
            for (id, json) in steps {
                let id: FeedbackId = format!("entry-{id}").parse().unwrap();
                entries.apply(&id, json.as_deref().map(str::as_bytes));
                let most_copied = if json.is_some() { 1 } else { 2 };
                match json {
                    Some(json) => drop(model.insert(id.to_string(), json)),
                    None => drop(model.remove(id.as_str())),
                }
                prop_assert!(copied(entries.pages(), &snapshots.last().unwrap().0) <= most_copied);
                snapshots.push((entries.pages().clone(), model.clone()));
            }
            for (pages, model) in snapshots {
                prop_assert_eq!(all(&pages), model);
            }
        }
    }
}
