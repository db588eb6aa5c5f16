//! The facts that rules are checked against: manifests, and how they are laid out.

use super::{
    graph::{Graph, Kind},
    rules::Violation,
};
use crate::{invocation::Invocation, repository};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use toml::{Table, Value};

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

    fn of_ours<T>(&self, read: impl Fn(&Package) -> Result<T>) -> Result<Vec<(String, T)>> {
        let ours = self.packages.iter().filter(|package| self.is_ours(package));
        ours.map(|package| Ok((package.name.clone(), read(package)?))).collect()
    }
}

/// With all features, so that no arrow hides behind an optional dependency.
pub(super) fn metadata() -> Result<Metadata> {
    let text = Invocation::new("cargo metadata --locked --all-features --format-version 1").output()?;
    serde_json::from_str(&text).context("`cargo metadata` has a shape that is not known")
}

pub(super) fn graph(metadata: &Metadata) -> Graph {
    let mut graph = Graph::default();
    for package in &metadata.packages {
        graph.add(&package.id, &package.name, metadata.is_ours(package));
    }
    for node in &metadata.resolve.nodes {
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

/// The source files of a crate, by their paths from `src`.
pub(super) type Files = Vec<(String, String)>;

/// The name of each of our crates, and its source files.
pub(super) fn sources(metadata: &Metadata) -> Result<Vec<(String, Files)>> {
    metadata.of_ours(|package| {
        let folder = package.manifest_path.with_file_name("src");
        let mut files = Vec::new();
        collect(&folder, &folder, &mut files)?;
        Ok(files)
    })
}

fn collect(folder: &Path, root: &Path, files: &mut Files) -> Result<()> {
    for entry in folder.read_dir().with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, root, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let below = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            files.push((below, text));
        }
    }
    Ok(())
}

/// The name and the manifest text of each of our crates.
pub(super) fn manifests(metadata: &Metadata) -> Result<Vec<(String, String)>> {
    metadata.of_ours(|package| {
        let path = &package.manifest_path;
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    })
}

const INHERITED: [&[&str]; 3] = [&["lints"], &["package", "version"], &["package", "edition"]];

pub(super) fn check_manifest(crate_name: &str, text: &str) -> Result<Vec<Violation>> {
    let manifest: Table =
        text.parse().with_context(|| format!("the manifest of {crate_name} is not valid TOML"))?;
    let not_inherited = INHERITED.iter().filter(|path| !inherits(&manifest, path)).map(|path| Violation {
        rule: "every crate takes lints, version and edition from the workspace",
        what: format!("{crate_name}: {}", path.join(".")),
        fix: format!("write `{}.workspace = true` in its Cargo.toml", path.join(".")),
    });
    // A feature that only some selections of packages have makes them compile the dependency again.
    let featured = ["dependencies", "dev-dependencies"].iter().flat_map(|section| {
        let table = manifest.get(*section).and_then(Value::as_table);
        table.into_iter().flatten().filter(|(_, value)| value.get("features").is_some())
    });
    let features = featured.map(|(name, _)| Violation {
        rule: "the features of a dependency are declared once, in the workspace",
        what: format!("{crate_name}: {name}"),
        fix: "declare them in [workspace.dependencies] of the top Cargo.toml".to_owned(),
    });
    Ok(not_inherited.chain(features).collect())
}

fn inherits(manifest: &Table, path: &[&str]) -> bool {
    let inner = path.iter().try_fold(manifest, |table, key| table.get(*key)?.as_table());
    inner.and_then(|table| table.get("workspace")?.as_bool()) == Some(true)
}

const ALLOWED: [&str; 7] = ["Cargo.lock", "Cargo.toml", "README.md", "crates", "docs", "migrations", "tests"];

pub(super) fn check_layout(entries: &BTreeSet<String>) -> Vec<Violation> {
    let allowed =
        |entry: &str| ALLOWED.contains(&entry) || entry.starts_with('.') || entry.starts_with("LICENSE");
    let unexpected = entries.iter().filter(|entry| !allowed(entry));
    unexpected
        .map(|entry| Violation {
            rule: "the top of the repository has only what the layout names",
            what: entry.clone(),
            fix: "move it under crates, docs, migrations or tests".to_owned(),
        })
        .collect()
}

/// What git tracks; a copy without git is looked at as it is, build output aside.
pub(super) fn top_level_entries() -> Result<BTreeSet<String>> {
    if let Ok(files) = Invocation::new("git ls-files -z").output() {
        let first_part = |path: &str| path.split('/').next().map(String::from);
        return Ok(files.split('\0').filter(|path| !path.is_empty()).filter_map(first_part).collect());
    }
    let mut entries = BTreeSet::new();
    for entry in repository::root()?.read_dir().context("cannot list the top of the repository")? {
        entries.insert(entry?.file_name().to_string_lossy().into_owned());
    }
    entries.remove("target");
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "
        [package]
        name = 'x'
        version.workspace = true
        edition = { workspace = true }
        [lints]
        workspace = true";

    #[test]
    fn a_manifest_that_inherits_everything_is_fine() {
        assert!(check_manifest("x", GOOD).unwrap().is_empty());
    }

    #[test]
    fn what_a_crate_decides_for_itself_is_named() {
        for (from, to, named) in [
            ("[lints]\n        workspace = true", "", "x: lints\n"),
            ("version.workspace = true", "version = '1.0.0'", "x: package.version\n"),
            ("{ workspace = true }", "'2021'", "x: package.edition\n"),
            ("[lints]", "[dev-dependencies]\ny = { workspace = true, features = ['z'] }\n[lints]", "x: y\n"),
        ] {
            let violations = check_manifest("x", &GOOD.replace(from, to)).unwrap();
            assert_eq!(violations.len(), 1, "{named}");
            assert!(violations[0].to_string().starts_with(named), "{}", violations[0]);
        }
    }

    fn entries(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_layout_itself_is_allowed() {
        let names = [&ALLOWED[..], &[".github", ".ci", "LICENSE-MIT", "LICENSE-APACHE"]].concat();
        assert!(check_layout(&entries(&names)).is_empty());
    }

    #[test]
    fn a_stray_entry_is_named() {
        let violations = check_layout(&entries(&["Cargo.toml", "scripts"]));
        assert_eq!(violations.len(), 1);
        assert!(violations[0].to_string().starts_with("scripts\n"), "{}", violations[0]);
    }
}
