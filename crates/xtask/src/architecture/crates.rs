//! The rules about dependencies between crates.

use super::Violation;
use serde::Deserialize;
use std::{collections::BTreeSet, path::PathBuf};

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

/// Crates that reach none of [`IO_CRATES`], however indirectly.
pub(super) const WITHOUT_IO: [&str; 2] = ["domain", "records"];

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

/// The part of `cargo metadata --no-deps` that the rules need: the crates of the workspace.
#[derive(Deserialize)]
pub(super) struct Metadata {
    pub(super) packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(super) struct Package {
    name: String,
    pub(super) manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

/// A direct dependency.
#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev`, or something that ends up in the program.
    kind: Option<String>,
    /// Only crates of the workspace have one. The name of one of ours may be that of a library.
    path: Option<PathBuf>,
}

impl Package {
    pub(super) fn name(&self) -> &str {
        short(&self.name)
    }
}

/// Returns the name of one of our crates as its folder is named.
fn short(name: &str) -> &str {
    name.strip_prefix("companion-").unwrap_or(name)
}

pub(super) fn check(package: &Package) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut violation = |rule, what, fix| violations.push(Violation { rule, what, fix });
    let from = package.name();
    let Some((_, allowed)) = CRATES.iter().find(|(name, _)| *name == from) else {
        let fix = "give it a row in crates/xtask/src/architecture/crates.rs that says what it may use";
        violation("every crate of the workspace is in the table of crates", from.to_owned(), fix.to_owned());
        return violations;
    };
    let allowed = allowed.concat();
    let may_use = match allowed.as_slice() {
        [] => format!("{from} may use none of our crates"),
        allowed => format!("{from} may use {}", allowed.join(", ")),
    };
    for Dependency { name, kind, path } in &package.dependencies {
        let (to, is_of_tests) = (short(name), kind.as_deref() == Some("dev"));
        let confined = CONFINED.iter().find(|(libraries, _)| libraries.contains(&name.as_str()));
        if let Some((_, homes)) = confined
            && !is_of_tests
            && (from == "companion" || PARTS.contains(&from))
            && !homes.contains(&from)
        {
            violation(
                "a library that decides an adapter is used directly only where it belongs",
                format!("{from} -> {to}"),
                format!("move what needs {to} into {}", homes.join(" or ")),
            );
        }
        // A crate may depend on itself in its tests, to enable a feature.
        if path.is_none() || to == from || allowed.contains(&to) {
            continue;
        }
        let tests_may_use =
            TESTS_MAY_USE.contains(&to) || to == "xtask" && TESTS_MAY_USE_XTASK.contains(&from);
        match is_of_tests {
            false => violation(
                "a crate uses only those of ours that the table of crates allows",
                format!("{from} -> {to}"),
                format!(
                    "{may_use}; let {from} take a port of the domain and the composition root pass it in"
                ),
            ),
            true if !tests_may_use => violation(
                "tests of one crate use no adapter but the one in memory",
                format!("{from} -> {to} (dev-dependency)"),
                format!(
                    "{may_use}, its tests also {}; a test over several adapters belongs into the `tests` crate",
                    TESTS_MAY_USE.join(", ")
                ),
            ),
            true => {}
        }
    }
    violations
}

/// Checks the names of all direct and indirect dependencies of the crates without I/O, one per line.
pub(super) fn check_io(tree: &str) -> Vec<Violation> {
    let names: BTreeSet<_> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    let reached = names.into_iter().filter(|name| IO_CRATES.contains(name)).map(|name| Violation {
        rule: "the domain and the records reach no I/O crate, however indirectly",
        what: format!("{} -> {name}", WITHOUT_IO.join(" or ")),
        fix: format!(
            "`cargo tree --invert {name} --package …` shows the way; define a port in the domain and do the I/O in an adapter, \
             or switch off the feature that brings it"
        ),
    });
    reached.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(from: &str, to: &str, kind: Option<&str>) -> Package {
        let is_ours = to == "xtask" || to.starts_with("companion");
        let path = is_ours.then(|| format!("/{to}"));
        let dependencies = json!([{"name": to, "kind": kind, "path": path}]);
        serde_json::from_value(json!({"name": from, "manifest_path": "", "dependencies": dependencies}))
            .unwrap()
    }

    #[test]
    fn an_unknown_crate_must_be_added_to_the_table() {
        let violations = check(&package("surprise", "domain", None));
        assert_eq!(violations.len(), 1, "{violations:?}");
        let text = violations[0].to_string();
        assert!(text.starts_with("surprise\n") && text.contains("crates.rs"), "{text}");
    }

    #[test]
    fn checks_each_direct_dependency() {
        let not_allowed = "table of crates allows";
        let in_tests = "tests of one crate use no adapter";
        for (from, to, kind, said) in [
            ("cache", "companion-storage-memory", None, "cache may use domain;"),
            ("companion", "companion-testkit", None, not_allowed),
            ("storage-diesel", "xtask", None, not_allowed),
            ("tests", "xtask", None, not_allowed),
            ("http", "companion-storage-memory", None, not_allowed),
            ("management", "companion-storage-memory", None, not_allowed),
            ("dashboard", "companion-storage-memory", None, not_allowed),
            ("cache", "companion-storage-diesel", Some("dev"), in_tests),
            ("cache", "xtask", Some("dev"), in_tests),
            ("companion", "diesel", None, "move what needs diesel into storage-diesel"),
            ("storage-diesel", "actix-web", None, "http or management or dashboard"),
            ("http", "reqwest", None, "identity-oauth2 or companion"),
        ] {
            let violations = check(&package(from, to, kind));
            let [violation] = violations.as_slice() else { panic!("{from} -> {to}: {violations:?}") };
            let what = format!("{from} -> {}", short(to));
            assert!(violation.what.starts_with(&what) && violation.to_string().contains(said), "{violation}");
        }
        for (from, to, kind) in [
            ("storage-diesel", "diesel", None),
            ("companion", "diesel", Some("dev")),
            ("storage-diesel", "xtask", Some("dev")),
            ("cache", "companion-testkit", Some("dev")),
            ("cache", "companion-cache", Some("dev")),
            ("dashboard", "companion-http", None),
            ("identity-oauth2", "http", None),
        ] {
            let violations = check(&package(from, to, kind));
            assert!(violations.is_empty(), "{violations:?}");
        }
    }

    #[test]
    fn reports_io_crates_once() {
        let violations =
            check_io("companion-domain v0.1.0 (/x)\nserde v1.0.0\ntokio v1.0.0\ntokio v1.0.0 (*)\n");
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert!(violations[0].what.ends_with("-> tokio"), "{}", violations[0]);
    }
}
