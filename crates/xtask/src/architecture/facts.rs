//! What the rules are told about the workspace, read from `cargo metadata` and the manifests.

use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{CargoOpt, DependencyKind, Metadata, MetadataCommand};

use super::graph::{Graph, Kind};
use crate::repository;

/// With all features, so that no arrow hides behind an optional dependency.
pub(super) fn metadata() -> Result<Metadata> {
    MetadataCommand::new()
        .current_dir(repository::root()?)
        .features(CargoOpt::AllFeatures)
        .other_options(vec!["--locked".to_owned()])
        .exec()
        .context("`cargo metadata` cannot describe the workspace")
}

pub(super) fn graph(metadata: &Metadata) -> Result<Graph> {
    let resolve = metadata.resolve.as_ref().context("`cargo metadata` gave no dependency graph")?;
    let mut graph = Graph::default();
    for package in &metadata.packages {
        let ours = metadata.workspace_members.contains(&package.id);
        graph.add(&package.id.repr, &package.name, ours);
    }
    for node in &resolve.nodes {
        for dependency in &node.deps {
            for kind in &dependency.dep_kinds {
                let kind = match kind.kind {
                    DependencyKind::Development => Kind::Development,
                    _ => Kind::Ordinary,
                };
                graph.connect(&node.id.repr, &dependency.pkg.repr, kind);
            }
        }
    }
    Ok(graph)
}

/// The source files of a crate, by their paths from `src`.
pub(super) type Files = Vec<(String, String)>;

/// The name of each of our crates, and its source files.
pub(super) fn sources(metadata: &Metadata) -> Result<Vec<(String, Files)>> {
    let read = |package: &cargo_metadata::Package| {
        let folder = package.manifest_path.with_file_name("src").into_std_path_buf();
        let mut files = Vec::new();
        collect(&folder, &folder, &mut files)?;
        Ok((package.name.to_string(), files))
    };
    metadata.workspace_packages().into_iter().map(read).collect()
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
    let read = |package: &cargo_metadata::Package| {
        let path = &package.manifest_path;
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
        Ok((package.name.to_string(), text))
    };
    metadata.workspace_packages().into_iter().map(read).collect()
}
