//! What the rules are told about the workspace, read from `cargo metadata` and the manifests.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::graph::{Graph, Kind};
use crate::invocation::Invocation;

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
