//! The crate graph, and the rules about dependencies between crates.

use super::{
    Violation,
    table::{
        ADAPTERS, CONFINED, CRATES, DASHBOARD, DOMAIN, HTTP, IO_CRATES, MANAGEMENT, RECORDS, TESTS_MAY_USE,
        TESTS_MAY_USE_XTASK, XTASK,
    },
};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::{Path, PathBuf},
};

/// The part of `cargo metadata` that the rules need.
#[derive(Deserialize)]
pub(super) struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    kind: Option<String>,
}

impl Metadata {
    fn is_ours(&self, package: &Package) -> bool {
        self.workspace_members.contains(&package.id)
    }

    /// Returns the name and the manifest of each workspace crate.
    pub(super) fn our_manifests(&self) -> impl Iterator<Item = (&str, &Path)> {
        let ours = self.packages.iter().filter(|package| self.is_ours(package));
        ours.map(|package| (package.name.as_str(), package.manifest_path.as_path()))
    }

    pub(super) fn graph(&self) -> Graph {
        let mut graph = Graph::default();
        for package in &self.packages {
            graph.add(&package.id, &package.name, self.is_ours(package));
        }
        for node in &self.resolve.nodes {
            for dependency in &node.deps {
                for kind in &dependency.dep_kinds {
                    let is_development = kind.kind.as_deref() == Some("dev");
                    let kind = if is_development { Kind::Development } else { Kind::Ordinary };
                    graph.connect(&node.id, &dependency.pkg, kind);
                }
            }
        }
        graph
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Normal and build dependencies, which end up in the program.
    Ordinary,
    Development,
}

/// Keyed by package id, because two versions of a crate share a name.
#[derive(Debug, Default)]
pub(super) struct Graph(BTreeMap<String, Crate>);

#[derive(Debug)]
struct Crate {
    name: String,
    is_ours: bool,
    arrows: Vec<(String, Kind)>,
}

impl Graph {
    fn add(&mut self, id: &str, name: &str, is_ours: bool) {
        self.0.insert(id.to_owned(), Crate { name: name.to_owned(), is_ours, arrows: Vec::new() });
    }

    fn connect(&mut self, from: &str, to: &str, kind: Kind) {
        if let Some(from) = self.0.get_mut(from) {
            from.arrows.push((to.to_owned(), kind));
        }
    }

    fn ours(&self) -> impl Iterator<Item = &Crate> {
        self.0.values().filter(|one| one.is_ours)
    }

    /// Returns the names of the direct dependencies of a workspace crate.
    fn direct(&self, from: &str, kind: Kind) -> BTreeSet<&str> {
        let arrows = self.ours().filter(|one| one.name == from).flat_map(|one| &one.arrows);
        let ids = arrows.filter(|(_, of)| *of == kind).map(|(to, _)| to);
        ids.filter_map(|id| self.0.get(id)).map(|one| one.name.as_str()).collect()
    }

    /// Returns, for each unwanted crate that `from` reaches over ordinary dependencies, the shortest path to it.
    fn shortest_paths(&self, from: &str, unwanted: &[&str]) -> Vec<Vec<&str>> {
        let start = self.ours().filter(|one| one.name == from);
        let mut waiting: VecDeque<_> = start.map(|one| (one, vec![one.name.as_str()])).collect();
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        while let Some((one, path)) = waiting.pop_front() {
            for (id, _) in one.arrows.iter().filter(|(_, kind)| *kind == Kind::Ordinary) {
                let Some(next) = self.0.get(id).filter(|_| seen.insert(id)) else { continue };
                let path = [&path[..], &[next.name.as_str()]].concat();
                if unwanted.contains(&next.name.as_str()) {
                    found.push(path);
                } else {
                    waiting.push_back((next, path));
                }
            }
        }
        found
    }
}

/// A crate that must not reach certain others, even indirectly.
struct Isolated {
    name: &'static str,
    from: &'static [&'static str],
    /// Paths through this crate are reported for that crate instead.
    except_through: Option<&'static str>,
    rule: &'static str,
    fix: &'static str,
}

const NO_ADAPTER: &str = "no API ever sees an adapter, however indirectly";
const USE_A_PORT: &str =
    "ask for the port as `Arc<dyn _>`; only the composition root knows which adapter is behind it";

const ISOLATED: [Isolated; 4] = [
    Isolated {
        name: DOMAIN,
        from: IO_CRATES,
        except_through: None,
        rule: "the domain reaches no I/O crate, however indirectly",
        fix: "define a port in the domain and do the I/O in an adapter, or switch off the feature that brings it",
    },
    Isolated {
        name: RECORDS,
        from: IO_CRATES,
        except_through: Some(DOMAIN),
        rule: "the records reach no I/O crate, however indirectly",
        fix: "read and write bytes where they come from, and give the records text",
    },
    Isolated { name: MANAGEMENT, from: ADAPTERS, except_through: None, rule: NO_ADAPTER, fix: USE_A_PORT },
    // Both depend on the public API, so its paths are the management API's too.
    Isolated {
        name: DASHBOARD,
        from: ADAPTERS,
        except_through: Some(HTTP),
        rule: NO_ADAPTER,
        fix: USE_A_PORT,
    },
];

pub(super) fn check(graph: &Graph) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut violation = |rule, what, fix| violations.push(Violation { rule, what, fix });
    for one in graph.ours().filter(|one| !CRATES.iter().any(|row| row.name == one.name)) {
        violation(
            "every crate of the workspace is in the table of crates",
            one.name.clone(),
            "give it a row in crates/xtask/src/architecture/table.rs that says what it may use".to_owned(),
        );
    }
    for row in CRATES {
        let from = row.name;
        // A crate may depend on itself in its tests, to enable a feature.
        let is_foreign =
            |to: &str| graph.ours().any(|one| one.name == to) && to != from && !row.may_use.contains(&to);
        let may_use = match row.may_use {
            [] => format!("{from} may use none of our crates"),
            allowed => format!("{from} may use {}", allowed.join(", ")),
        };
        for to in graph.direct(from, Kind::Ordinary) {
            if is_foreign(to) {
                violation(
                    "a crate uses only those of ours that the table of crates allows",
                    format!("{from} -> {to}"),
                    format!(
                        "{may_use}; let {from} take a port of the domain and the composition root pass it in"
                    ),
                );
            }
            let confined = CONFINED.iter().find(|(libraries, _)| libraries.contains(&to));
            if let Some((_, homes)) = confined
                && row.production
                && !homes.contains(&from)
            {
                violation(
                    "a library that decides an adapter is used directly only where it belongs",
                    format!("{from} -> {to}"),
                    format!("move what needs {to} into {}", homes.join(" or ")),
                );
            }
        }
        let tests_may_use =
            |to| TESTS_MAY_USE.contains(&to) || to == XTASK && TESTS_MAY_USE_XTASK.contains(&from);
        let of_tests = graph.direct(from, Kind::Development);
        for to in of_tests.into_iter().filter(|to| is_foreign(to) && !tests_may_use(to)) {
            violation(
                "tests of one crate use no adapter but the one in memory",
                format!("{from} -> {to} (dev-dependency)"),
                format!(
                    "{may_use}, its tests also {}; a test over several adapters belongs into the `tests` crate",
                    TESTS_MAY_USE.join(", ")
                ),
            );
        }
    }
    for isolated in &ISOLATED {
        let mut paths = graph.shortest_paths(isolated.name, isolated.from);
        paths.retain(|path| !isolated.except_through.is_some_and(|through| path.contains(&through)));
        for path in paths {
            violation(isolated.rule, path.join(" -> "), isolated.fix.to_owned());
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::{
        super::table::{CACHE, COMPANION, STORAGE_DIESEL, STORAGE_MEMORY, TESTKIT, TESTS},
        Kind::{Development, Ordinary},
        *,
    };

    type Arrow = (&'static str, &'static str, Kind);

    /// Returns a graph with all workspace crates, the dependencies that the table allows, and the given ones.
    fn graph(more: &[Arrow]) -> Graph {
        let mut graph = Graph::default();
        for name in ["serde", "helper", "tokio", "diesel", "actix-web", "reqwest"] {
            graph.add(name, name, false);
        }
        for row in CRATES {
            graph.add(row.name, row.name, true);
            for to in row.may_use {
                graph.connect(row.name, to, Ordinary);
            }
        }
        let libraries = [(DOMAIN, "serde"), (STORAGE_DIESEL, "diesel"), (HTTP, "actix-web")];
        let libraries = libraries.map(|(from, to)| (from, to, Ordinary));
        for (from, to, kind) in libraries.iter().chain(more) {
            graph.connect(from, to, *kind);
        }
        graph
    }

    #[test]
    fn allowed_dependencies_violate_no_rule() {
        let to_testkit = [STORAGE_DIESEL, CACHE, DOMAIN, COMPANION].map(|from| (from, TESTKIT, Development));
        let others = [
            (TESTS, STORAGE_DIESEL, Development),
            (STORAGE_DIESEL, XTASK, Development),
            (COMPANION, XTASK, Development),
            (TESTS, XTASK, Development),
            (DOMAIN, "tokio", Development),
            (TESTKIT, "actix-web", Ordinary),
        ];
        let violations = check(&graph(&[&to_testkit[..], &others].concat()));
        assert!(violations.is_empty(), "{violations:?}");
    }

    #[test]
    fn an_unknown_crate_must_be_added_to_the_table() {
        let mut graph = graph(&[]);
        graph.add("companion-surprise", "companion-surprise", true);
        let violations = check(&graph);
        assert_eq!(violations.len(), 1, "{violations:?}");
        let text = violations[0].to_string();
        assert!(text.starts_with("companion-surprise\n") && text.contains("table.rs"), "{text}");
    }

    #[test]
    fn each_forbidden_dependency_is_the_only_violation() {
        let cases: &[(&[Arrow], &str, &str)] = &[
            (
                &[(CACHE, STORAGE_MEMORY, Ordinary)],
                "companion-cache -> companion-storage-memory",
                "companion-cache may use companion-domain;",
            ),
            (&[(COMPANION, TESTKIT, Ordinary)], "companion -> companion-testkit", "table of crates allows"),
            (
                &[(CACHE, STORAGE_DIESEL, Development)],
                "companion-cache -> companion-storage-diesel (dev-dependency)",
                "tests of one crate use no adapter",
            ),
            (&[(CACHE, XTASK, Development)], "companion-cache -> xtask (dev-dependency)", "use no adapter"),
            (&[(STORAGE_DIESEL, XTASK, Ordinary)], "companion-storage-diesel -> xtask", "table of crates"),
            (&[(COMPANION, XTASK, Ordinary)], "companion -> xtask", "table of crates"),
            (&[(TESTS, XTASK, Ordinary)], "companion-tests -> xtask", "table of crates"),
            (
                &[(DOMAIN, "helper", Ordinary), ("helper", "tokio", Ordinary)],
                "companion-domain -> helper -> tokio",
                "the domain reaches no I/O crate",
            ),
            (
                &[(RECORDS, "helper", Ordinary), ("helper", "tokio", Ordinary)],
                "companion-records -> helper -> tokio",
                "the records reach no I/O crate",
            ),
            (
                &[(HTTP, "helper", Ordinary), ("helper", STORAGE_MEMORY, Ordinary)],
                "companion-management -> companion-http -> helper -> companion-storage-memory",
                "no API ever sees an adapter",
            ),
            (
                &[(MANAGEMENT, "helper", Ordinary), ("helper", STORAGE_MEMORY, Ordinary)],
                "companion-management -> helper -> companion-storage-memory",
                "no API ever sees an adapter",
            ),
            (
                &[(DASHBOARD, "helper", Ordinary), ("helper", STORAGE_MEMORY, Ordinary)],
                "companion-dashboard -> helper -> companion-storage-memory",
                "no API ever sees an adapter",
            ),
            (
                &[(COMPANION, "diesel", Ordinary)],
                "companion -> diesel",
                "move what needs diesel into companion-storage-diesel",
            ),
            (
                &[(STORAGE_DIESEL, "actix-web", Ordinary)],
                "companion-storage-diesel -> actix-web",
                "companion-http or companion-management or companion-dashboard",
            ),
            (
                &[(HTTP, "reqwest", Ordinary)],
                "companion-http -> reqwest",
                "companion-identity-oauth2 or companion",
            ),
        ];
        for (arrows, what, said) in cases {
            let violations = check(&graph(arrows));
            assert_eq!(violations.len(), 1, "{what}: {violations:?}");
            assert_eq!(violations[0].what, *what);
            assert!(violations[0].to_string().contains(said), "{}", violations[0]);
        }
    }

    #[test]
    fn reports_the_shortest_path_over_ordinary_dependencies() {
        let mut graph = Graph::default();
        graph.add("ours", "ours", true);
        for (id, name) in [("a", "a"), ("b", "b"), ("bad", "bad"), ("worse", "worse"), ("a 2", "a")] {
            graph.add(id, name, false);
        }
        for (from, to) in
            [("ours", "a"), ("a", "b"), ("b", "bad"), ("a", "bad"), ("b", "a"), ("a 2", "worse")]
        {
            graph.connect(from, to, Ordinary);
        }
        graph.connect("ours", "worse", Development);
        assert_eq!(graph.shortest_paths("ours", &["bad", "worse"]), [["ours", "a", "bad"]]);
    }
}
