//! Rendered entries in a vector that can be copied at once and changed in one place.
//!
//! It is a tree of fixed depth whose nodes are shared between copies. A change copies the nodes on the way to one entry and
//! leaves all others to both copies, so it costs the same however many entries there are, and whoever reads an older copy
//! still sees all of it as it was.
//!
//! Of a million entries hardly any is in the processor's caches, so what a pick costs is how often one place in memory has to be
//! read to know the next. So every node is in one piece, and for an entry it is two: the leaf, which says where, and the bytes.

use arrayvec::ArrayVec;
use std::sync::Arc;

/// How many entries a leaf has, and how many nodes each node above.
const WIDTH: usize = 32;

/// One entry: what is sent of it, and the id that it is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fragment<'a> {
    pub(super) id: &'a [u8],
    pub(super) json: &'a [u8],
}

/// Numbered entries. Clones share what is the same in both.
#[derive(Clone, Default)]
pub(super) struct Fragments {
    root: Fan<Fan<Fan<Leaf>>>,
    length: usize,
    bytes: usize,
}

impl Fragments {
    /// How many there can be.
    pub(super) const CAPACITY: usize = <Fan<Fan<Fan<Leaf>>> as Node>::CAPACITY;

    pub(super) const fn len(&self) -> usize {
        self.length
    }

    /// The length of all entries together.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn get(&self, index: usize) -> Option<Fragment<'_>> {
        self.root.get(index)
    }

    /// Puts an entry in the place of another, or behind the last. One that finds no room is left out.
    pub(super) fn set(&mut self, index: usize, fragment: Fragment<'_>) {
        let earlier = self.get(index).map_or(0, length);
        if index <= self.length && index < Self::CAPACITY {
            self.root.set(index, fragment);
            self.bytes = self.bytes - earlier + length(fragment);
            self.length = self.length.max(index + 1);
        }
    }

    /// Takes the last entry off.
    pub(super) fn pop(&mut self) {
        if let Some(last) = self.length.checked_sub(1) {
            self.bytes -= self.get(last).map_or(0, length);
            self.root.pop();
            self.length = last;
        }
    }
}

fn length(fragment: Fragment<'_>) -> usize {
    fragment.id.len() + fragment.json.len()
}

/// A part of the tree. An index counts from its own first entry.
trait Node: Clone + Default {
    /// How many entries it can have.
    const CAPACITY: usize;

    fn is_empty(&self) -> bool;

    fn get(&self, index: usize) -> Option<Fragment<'_>>;

    /// Replaces an entry, or adds the one after the last.
    fn set(&mut self, index: usize, fragment: Fragment<'_>);

    /// Takes the last entry off.
    fn pop(&mut self);
}

/// Nodes in order, all of them full but the last.
#[derive(Clone)]
struct Fan<N>(ArrayVec<Arc<N>, WIDTH>);

impl<N> Default for Fan<N> {
    fn default() -> Self {
        Self(ArrayVec::new())
    }
}

impl<N: Node> Node for Fan<N> {
    const CAPACITY: usize = WIDTH * N::CAPACITY;

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn get(&self, index: usize) -> Option<Fragment<'_>> {
        self.0.get(index / N::CAPACITY)?.get(index % N::CAPACITY)
    }

    fn set(&mut self, index: usize, fragment: Fragment<'_>) {
        if index / N::CAPACITY == self.0.len() {
            self.0.push(Arc::default());
        }
        if let Some(node) = self.0.get_mut(index / N::CAPACITY) {
            Arc::make_mut(node).set(index % N::CAPACITY, fragment);
        }
    }

    fn pop(&mut self) {
        if let Some(last) = self.0.last_mut() {
            let last = Arc::make_mut(last);
            last.pop();
            if last.is_empty() {
                self.0.pop();
            }
        }
    }
}

/// Entries one behind the other, so that a million of them need a million allocations less.
#[derive(Clone, Default)]
struct Leaf {
    bytes: Vec<u8>,
    ends: ArrayVec<Ends, WIDTH>,
}

/// Where an entry ends: first what is sent of it, then its id.
#[derive(Clone, Copy, Default)]
struct Ends {
    json: usize,
    id: usize,
}

impl Leaf {
    fn begin(&self, index: usize) -> usize {
        index.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |ends| ends.id)
    }
}

impl Node for Leaf {
    const CAPACITY: usize = WIDTH;

    fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn get(&self, index: usize) -> Option<Fragment<'_>> {
        let ends = self.ends.get(index)?;
        let json = self.bytes.get(self.begin(index)..ends.json)?;
        Some(Fragment { json, id: self.bytes.get(ends.json..ends.id)? })
    }

    fn set(&mut self, index: usize, fragment: Fragment<'_>) {
        let begin = self.begin(index);
        let end = self.ends.get(index).map_or(begin, |ends| ends.id);
        self.bytes.splice(begin..end, fragment.json.iter().chain(fragment.id).copied());
        let ends = Ends { json: begin + fragment.json.len(), id: begin + length(fragment) };
        if index == self.ends.len() {
            self.ends.push(ends);
        } else {
            for later in self.ends.iter_mut().skip(index + 1) {
                later.json = later.json - end + ends.id;
                later.id = later.id - end + ends.id;
            }
            if let Some(own) = self.ends.get_mut(index) {
                *own = ends;
            }
        }
        if self.ends.len() == WIDTH {
            // It only grows again when an entry does.
            self.bytes.shrink_to_fit();
        }
    }

    fn pop(&mut self) {
        self.ends.pop();
        self.bytes.truncate(self.begin(self.ends.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fragment<'a>(id: &'a str, json: &'a str) -> Fragment<'a> {
        Fragment { id: id.as_bytes(), json: json.as_bytes() }
    }

    fn all(fragments: &Fragments) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let each = (0..fragments.len()).map(|index| fragments.get(index).unwrap());
        each.map(|fragment| (text(fragment.id), text(fragment.json))).collect()
    }

    /// How many leaves two copies do not share.
    fn copied(one: &Fragments, other: &Fragments) -> usize {
        let leaves = |fragments: &Fragments| -> Vec<*const Leaf> {
            let upper = fragments.root.0.iter().flat_map(|node| &node.0);
            upper.flat_map(|node| &node.0).map(Arc::as_ptr).collect()
        };
        let (one, other) = (leaves(one), leaves(other));
        one.iter().zip(&other).filter(|(a, b)| a != b).count() + one.len().abs_diff(other.len())
    }

    fn filled(count: usize) -> Fragments {
        let mut fragments = Fragments::default();
        for number in 0..count {
            fragments.set(number, fragment(&number.to_string(), "{}"));
        }
        fragments
    }

    #[test]
    fn there_is_room_for_a_million() {
        const { assert!(Fragments::CAPACITY >= 1_000_000) };
    }

    #[test]
    fn a_change_copies_one_leaf_however_many_there_are() {
        for count in [1_000, 100_000] {
            let before = filled(count);
            for index in [0, count / 2, count - 1] {
                let mut after = before.clone();
                after.set(index, fragment("other", "[\"longer than before\"]"));
                assert_eq!(copied(&before, &after), 1, "{index} of {count}");
            }
            let mut fewer = before.clone();
            fewer.pop();
            assert!(copied(&before, &fewer) <= 1, "the last of {count}");
        }
    }

    #[test]
    fn nothing_is_put_beyond_the_end() {
        let mut fragments = filled(3);
        fragments.set(4, fragment("4", "{}"));
        assert_eq!((fragments.len(), fragments.get(4)), (3, None));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Set(usize, String),
        Push(String),
        Pop,
        Copy,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            3 => (any::<usize>(), "[a-z\"]{0,40}").prop_map(|(index, json)| Step::Set(index, json)),
            6 => "[a-z\"]{0,40}".prop_map(Step::Push),
            2 => Just(Step::Pop),
            1 => Just(Step::Copy),
        ];
        proptest::collection::vec(step, 0..200)
    }

    proptest! {
        // Each case has hundreds of steps.
        #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

        #[test]
        fn it_is_a_vector_and_its_copies_stay_as_they_were(start in 0..2100_usize, steps in steps()) {
            let mut fragments = filled(start);
            let mut model = all(&fragments);
            let mut copies = Vec::new();
            for (number, step) in steps.into_iter().enumerate() {
                let id = format!("id{number}");
                match step {
                    Step::Set(index, json) if !model.is_empty() => {
                        let index = index % model.len();
                        fragments.set(index, fragment(&id, &json));
                        model[index] = (id, json);
                    }
                    Step::Set(_, json) | Step::Push(json) => {
                        fragments.set(fragments.len(), fragment(&id, &json));
                        model.push((id, json));
                    }
                    Step::Pop => {
                        fragments.pop();
                        model.pop();
                    }
                    Step::Copy => copies.push((fragments.clone(), model.clone())),
                }
            }
            copies.push((fragments, model));
            for (copy, model) in copies {
                prop_assert_eq!(copy.bytes(), model.iter().map(|(id, json)| id.len() + json.len()).sum::<usize>());
                prop_assert_eq!(all(&copy), model);
            }
        }
    }
}
