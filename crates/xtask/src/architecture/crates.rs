//! The rules about dependencies between crates.

use super::Violation;
use serde::Deserialize;
use std::{
    collections::{BTreeSet, VecDeque},
    path::PathBuf,
};

/// The crates that the published program consists of.
const PARTS: &[&str] = &[
    "domain",
    "storage-memory",
    "storage-diesel",
    "identity-oauth2",
    "cache",
    "records",
    "http",
    "management",
    "dashboard",
    "dev-identity",
];

/// All workspace crates, each with sets of the ones that it may depend on.
const CRATES: [(&str, &[&[&str]]); 14] = [
    ("domain", &[]),
    ("storage-memory", &[&["domain"]]),
    ("storage-diesel", &[&["domain"]]),
    ("identity-oauth2", &[&["domain"]]),
    ("cache", &[&["domain"]]),
    ("records", &[&["domain"]]),
    ("http", &[&["domain"]]),
    ("management", &[&["domain", "records", "http"]]),
    ("dashboard", &[&["domain", "http"]]),
    ("dev-identity", &[]),
    ("companion", &[PARTS]),
    ("testkit", &[&["domain", "storage-memory", "http", "management"]]),
    ("tests", &[PARTS, &["companion", "testkit"]]),
    ("xtask", &[]),
];

/// Crates that the tests of every crate may use: adapters are tested with the test kit, or against a real provider.
const TESTS_MAY_USE: &[&str] = &["testkit", "storage-memory", "http", "management", "domain", "dev-identity"];

/// Crates whose tests may use what xtask offers: a PostgreSQL server, a folder in memory, the names of browsers.
const TESTS_MAY_USE_XTASK: &[&str] = &["storage-diesel", "companion", "tests"];

/// Crates that must not reach certain others, even indirectly.
struct Isolated {
    names: &'static [&'static str],
    from: &'static [&'static str],
    rule: &'static str,
    fix: &'static str,
}

const ISOLATED: [Isolated; 2] = [
    Isolated {
        names: &["domain", "records"],
        from: IO_CRATES,
        rule: "the domain and the records reach no I/O crate, however indirectly",
        fix: "define a port in the domain and do the I/O in an adapter, or switch off the feature that brings it",
    },
    Isolated {
        names: &["http", "management", "dashboard"],
        from: &["storage-memory", "storage-diesel", "identity-oauth2", "cache", "dev-identity"],
        rule: "no API ever sees an adapter, however indirectly",
        fix: "ask for the port as `Arc<dyn _>`; only the composition root knows which adapter is behind it",
    },
];

/// Crates that access files, sockets, databases or a runtime; all other I/O crates depend on one of them.
const IO_CRATES: &[&str] = &[
    "async-io",
    "cap-std",
    "curl-sys",
    "diesel",
    "fs-err",
    "libsqlite3-sys",
    "memmap2",
    "mio",
    "native-tls",
    "notify",
    "openssl-sys",
    "polling",
    "postgres",
    "pq-sys",
    "r2d2",
    "rustls",
    "socket2",
    "tempfile",
    "tokio",
    "tungstenite",
    "ureq",
    "walkdir",
];

/// Libraries that only certain production crates may use directly.
const CONFINED: &[(&[&str], &[&str])] = &[
    (&["diesel", "diesel_migrations", "r2d2"], &["storage-diesel"]),
    (&["actix-web"], &["http", "management", "dashboard", "dev-identity", "companion"]),
    (&["reqwest"], &["identity-oauth2", "companion"]),
];

/// The part of `cargo metadata` that the rules need: all crates, and what each depends on.
#[derive(Deserialize)]
pub(super) struct Metadata {
    packages: Vec<Package>,
    workspace_members: BTreeSet<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
pub(super) struct Package {
    /// Differs from the name, which two versions of a crate share.
    id: String,
    name: String,
    pub(super) manifest_path: PathBuf,
}

impl Package {
    /// Returns the name; that of our crates without the prefix, as their folders are named. One of ours may then have the
    /// name of a library.
    pub(super) fn name(&self) -> &str {
        self.name.strip_prefix("companion-").unwrap_or(&self.name)
    }
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
    /// `dev`, or something that ends up in the program.
    kind: Option<String>,
}

impl Metadata {
    /// Returns the crates of the workspace.
    pub(super) fn ours(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// Returns the direct dependencies of a crate: those of its tests, or those that end up in the program.
    fn direct(&self, from: &Package, of_tests: bool) -> impl Iterator<Item = &Package> {
        let node = self.resolve.nodes.iter().find(|node| node.id == from.id);
        let is_wanted = move |dependency: &&Dependency| {
            dependency.dep_kinds.iter().any(|kind| (kind.kind.as_deref() == Some("dev")) == of_tests)
        };
        let wanted = node.into_iter().flat_map(|node| &node.deps).filter(is_wanted);
        wanted.filter_map(|to| self.packages.iter().find(|package| package.id == to.pkg))
    }

    /// Returns the shortest path to each crate from which `from` is isolated. Paths through another crate of the same
    /// rule are reported for that crate instead.
    fn forbidden_paths<'m>(&'m self, from: &'m Package, isolated: &Isolated) -> Vec<Vec<&'m str>> {
        let mut waiting = VecDeque::from([(from, vec![from.name()])]);
        let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
        while let Some((package, path)) = waiting.pop_front() {
            for next in self.direct(package, false).filter(|next| seen.insert(next.id.as_str())) {
                let name = next.name();
                let path = [&path[..], &[name]].concat();
                if isolated.from.contains(&name) {
                    found.push(path);
                } else if !(isolated.names.contains(&name) && self.workspace_members.contains(&next.id)) {
                    waiting.push_back((next, path));
                }
            }
        }
        found
    }
}

pub(super) fn check(metadata: &Metadata) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut violation = |rule, what, fix| violations.push(Violation { rule, what, fix });
    for package in metadata.ours() {
        let from = package.name();
        let Some((_, allowed)) = CRATES.iter().find(|(name, _)| *name == from) else {
            violation(
                "every crate of the workspace is in the table of crates",
                from.to_owned(),
                "give it a row in crates/xtask/src/architecture/crates.rs that says what it may use"
                    .to_owned(),
            );
            continue;
        };
        let allowed = allowed.concat();
        // A crate may depend on itself in its tests, to enable a feature.
        let is_foreign = |to: &Package| {
            metadata.workspace_members.contains(&to.id)
                && to.id != package.id
                && !allowed.contains(&to.name())
        };
        let may_use = match allowed.as_slice() {
            [] => format!("{from} may use none of our crates"),
            allowed => format!("{from} may use {}", allowed.join(", ")),
        };
        for dependency in metadata.direct(package, false) {
            let to = dependency.name();
            if is_foreign(dependency) {
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
                && (from == "companion" || PARTS.contains(&from))
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
            |to| TESTS_MAY_USE.contains(&to) || to == "xtask" && TESTS_MAY_USE_XTASK.contains(&from);
        let of_tests = metadata.direct(package, true).filter(|to| is_foreign(to)).map(Package::name);
        for to in of_tests.filter(|to| !tests_may_use(to)) {
            violation(
                "tests of one crate use no adapter but the one in memory",
                format!("{from} -> {to} (dev-dependency)"),
                format!(
                    "{may_use}, its tests also {}; a test over several adapters belongs into the `tests` crate",
                    TESTS_MAY_USE.join(", ")
                ),
            );
        }
        for isolated in ISOLATED.iter().filter(|isolated| isolated.names.contains(&from)) {
            for path in metadata.forbidden_paths(package, isolated) {
                violation(isolated.rule, path.join(" -> "), isolated.fix.to_owned());
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A dependency: from, to, and `dev` if it is of tests only.
    type Arrow = (&'static str, &'static str, Option<&'static str>);

    const TEST: Option<&str> = Some("dev");

    /// Returns all workspace crates and more, with the dependencies that the table allows and the given ones.
    fn metadata(ours: &[&str], arrows: &[Arrow]) -> Metadata {
        let libraries =
            [("domain", "serde", None), ("storage-diesel", "diesel", None), ("http", "actix-web", None)];
        let mut arrows = [&libraries, arrows].concat();
        for (from, allowed) in CRATES {
            arrows.extend(allowed.concat().into_iter().map(|to| (from, to, None)));
        }
        let ours: Vec<_> = CRATES.iter().map(|(name, _)| name).chain(ours).collect();
        let all: BTreeSet<_> = ours.iter().copied().chain(arrows.iter().map(|(_, to, _)| to)).collect();
        let dependency =
            |(_, to, kind): &Arrow| json!({"pkg": format!("{to} 1"), "dep_kinds": [{"kind": kind}]});
        let node = |name: &&&str| {
            let from_it = arrows.iter().filter(|(from, ..)| from == *name);
            json!({"id": format!("{name} 1"), "deps": from_it.map(dependency).collect::<Vec<_>>()})
        };
        let package = |name| json!({"id": format!("{name} 1"), "name": name, "manifest_path": ""});
        let metadata = json!({
            "packages": all.iter().map(package).collect::<Vec<_>>(),
            "workspace_members": ours.iter().map(|name| format!("{name} 1")).collect::<Vec<_>>(),
            "resolve": {"nodes": all.iter().map(node).collect::<Vec<_>>()},
        });
        serde_json::from_value(metadata).unwrap()
    }

    #[test]
    fn an_unknown_crate_must_be_added_to_the_table() {
        let violations = check(&metadata(&["surprise"], &[]));
        assert_eq!(violations.len(), 1, "{violations:?}");
        let text = violations[0].to_string();
        assert!(text.starts_with("surprise\n") && text.contains("crates.rs"), "{text}");
    }

    #[test]
    fn each_forbidden_dependency_is_the_only_violation() {
        let not_allowed = "table of crates allows";
        let in_tests = "tests of one crate use no adapter";
        let reaches_io = "the domain and the records reach no I/O crate";
        let sees_adapter = "no API ever sees an adapter";
        for (from, to, kind, said) in [
            ("cache", "storage-memory", None, "cache may use domain;"),
            ("companion", "testkit", None, not_allowed),
            ("storage-diesel", "xtask", None, not_allowed),
            ("companion", "xtask", None, not_allowed),
            ("tests", "xtask", None, not_allowed),
            ("cache", "storage-diesel", TEST, in_tests),
            ("cache", "xtask", TEST, in_tests),
            ("companion", "diesel", None, "move what needs diesel into storage-diesel"),
            ("storage-diesel", "actix-web", None, "http or management or dashboard"),
            ("http", "reqwest", None, "identity-oauth2 or companion"),
            ("domain", "tokio", None, reaches_io),
            ("records", "tokio", None, reaches_io),
            ("http", "storage-memory", None, sees_adapter),
            ("management", "storage-memory", None, sees_adapter),
            ("dashboard", "storage-memory", None, sees_adapter),
        ] {
            // Through another crate, where a direct dependency would violate a second rule.
            let is_indirect = [reaches_io, sees_adapter].contains(&said);
            let (arrows, what) = match is_indirect {
                true => {
                    (vec![(from, "helper", kind), ("helper", to, kind)], format!("{from} -> helper -> {to}"))
                }
                false => (vec![(from, to, kind)], format!("{from} -> {to}")),
            };
            let violations = check(&metadata(&[], &arrows));
            let [violation] = violations.as_slice() else { panic!("{what}: {violations:?}") };
            assert!(violation.what.starts_with(&what) && violation.to_string().contains(said), "{violation}");
        }
    }

    #[test]
    fn reports_the_shortest_path_over_ordinary_dependencies() {
        let violations = check(&metadata(
            &[],
            &[
                ("domain", "a", None),
                ("domain", "mio", TEST),
                ("a", "b", None),
                ("b", "tokio", None),
                ("a", "tokio", None),
                ("b", "a", None),
            ],
        ));
        let paths: Vec<_> = violations.iter().map(|violation| violation.what.as_str()).collect();
        assert_eq!(paths, ["domain -> a -> tokio"]);
    }
}
