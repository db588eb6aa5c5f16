//! Crates and the arrows between them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Normal and build dependencies: what the program is made of.
    Ordinary,
    Development,
}

/// Keyed by an opaque id, since two versions of a crate share a name.
#[derive(Debug, Default)]
pub(super) struct Graph {
    crates: BTreeMap<String, Crate>,
}

#[derive(Debug)]
struct Crate {
    name: String,
    ours: bool,
    arrows: Vec<(String, Kind)>,
}

impl Graph {
    pub(super) fn add(&mut self, id: &str, name: &str, ours: bool) {
        self.crates.insert(id.to_owned(), Crate { name: name.to_owned(), ours, arrows: Vec::new() });
    }

    pub(super) fn connect(&mut self, from: &str, to: &str, kind: Kind) {
        if let Some(from) = self.crates.get_mut(from) {
            from.arrows.push((to.to_owned(), kind));
        }
    }

    pub(super) fn our_names(&self) -> impl Iterator<Item = &str> {
        self.crates.values().filter(|one| one.ours).map(|one| one.name.as_str())
    }

    /// The direct dependencies of one of our crates.
    pub(super) fn direct(&self, from: &str, kind: Kind) -> BTreeSet<&str> {
        self.our_id(from).map(|id| self.targets(id, kind)).into_iter().flatten().map(|(_, one)| one).collect()
    }

    pub(super) fn is_ours(&self, name: &str) -> bool {
        self.our_id(name).is_some()
    }

    /// For each unwanted crate that one of ours reaches over ordinary arrows, the shortest way there.
    pub(super) fn ways(&self, from: &str, unwanted: impl Fn(&str) -> bool) -> Vec<Vec<&str>> {
        let Some(start) = self.our_id(from) else {
            return Vec::new();
        };
        let mut seen = BTreeSet::from([start]);
        let mut waiting = VecDeque::from([(start, vec![self.name(start)])]);
        let mut found = Vec::new();
        while let Some((id, way)) = waiting.pop_front() {
            for (next, name) in self.targets(id, Kind::Ordinary) {
                if !seen.insert(next) {
                    continue;
                }
                let mut way = way.clone();
                way.push(name);
                if unwanted(name) {
                    found.push(way);
                } else {
                    waiting.push_back((next, way));
                }
            }
        }
        found
    }

    fn our_id(&self, name: &str) -> Option<&str> {
        self.crates.iter().find(|(_, one)| one.ours && one.name == name).map(|(id, _)| id.as_str())
    }

    fn name<'a>(&'a self, id: &'a str) -> &'a str {
        self.crates.get(id).map_or(id, |one| one.name.as_str())
    }

    fn targets<'a>(&'a self, id: &str, kind: Kind) -> impl Iterator<Item = (&'a str, &'a str)> {
        let arrows = self.crates.get(id).map(|one| one.arrows.as_slice()).unwrap_or_default();
        arrows.iter().filter(move |(_, of)| *of == kind).map(|(to, _)| (to.as_str(), self.name(to)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_an_unwanted_crate_is_the_shortest_and_ignores_development_arrows() {
        let mut graph = Graph::default();
        graph.add("ours", "ours", true);
        for name in ["a", "b", "bad", "worse"] {
            graph.add(name, name, false);
        }
        for (from, to) in [("ours", "a"), ("a", "b"), ("b", "bad"), ("a", "bad"), ("b", "a")] {
            graph.connect(from, to, Kind::Ordinary);
        }
        graph.connect("ours", "worse", Kind::Development);
        let ways = graph.ways("ours", |name| matches!(name, "bad" | "worse"));
        assert_eq!(ways, [["ours", "a", "bad"]]);
    }

    #[test]
    fn two_versions_of_a_crate_are_kept_apart() {
        let mut graph = Graph::default();
        graph.add("ours", "ours", true);
        graph.add("helper 1", "helper", false);
        graph.add("helper 2", "helper", false);
        graph.add("bad", "bad", false);
        graph.connect("ours", "helper 1", Kind::Ordinary);
        graph.connect("helper 2", "bad", Kind::Ordinary);
        assert!(graph.ways("ours", |name| name == "bad").is_empty());
    }
}
