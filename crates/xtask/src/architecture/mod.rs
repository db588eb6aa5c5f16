//! Checks the architecture: dependencies between crates, the layout of the repository, and the direction of imports.
//!
//! Each rule maps facts to [`Violation`]s; only this file reads the repository. A new crate is a new row in
//! [`crates::CRATES`].

mod crates;
mod imports;

use crate::invocation::{Invocation, root};
use anyhow::{Context, Result, bail};
use crates::Metadata;
use std::{collections::BTreeSet, fmt, fs, path::Path};
use toml::{Table, Value};

/// A violated rule: what violates it, and how to fix it.
#[derive(Debug)]
struct Violation {
    rule: &'static str,
    what: String,
    fix: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}\n    rule: {}\n    fix:  {}", self.what, self.rule, self.fix)
    }
}

pub(crate) fn run() -> Result<()> {
    let violations = violations()?;
    if violations.is_empty() {
        println!("The architecture holds.");
        return Ok(());
    }
    for violation in &violations {
        println!("  {violation}");
    }
    bail!("The architecture is broken in {} place(s).", violations.len())
}

fn violations() -> Result<Vec<Violation>> {
    let text = Invocation::new("cargo metadata --locked --no-deps --format-version 1").output()?;
    let metadata: Metadata = serde_json::from_str(&text).context("`cargo metadata` has an unknown format")?;
    // For all targets and with all features, so that optional dependencies are included.
    let tree = "cargo tree --locked --all-features --target all --edges no-dev --prefix none";
    let of_crates = crates::WITHOUT_IO.map(|name| format!("--package=companion-{name}"));
    let mut violations = crates::check_io(&Invocation::new(tree).with_arguments(&of_crates).output()?);
    violations.extend(check_layout(&top_level_entries()?));
    for package in &metadata.packages {
        let name = package.name();
        violations.extend(crates::check(package));
        violations.extend(check_manifest(name, &read(&package.manifest_path)?)?);
        let folder = package.manifest_path.with_file_name("src");
        let mut files = Vec::new();
        collect(&folder, &folder, &mut files)?;
        violations.extend(imports::check(name, &files)?);
    }
    Ok(violations)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Collects the source files below a folder, by their paths from `root`.
fn collect(folder: &Path, root: &Path, files: &mut Vec<(String, String)>) -> Result<()> {
    for entry in folder.read_dir().with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, root, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push((path.strip_prefix(root)?.display().to_string(), read(&path)?));
        }
    }
    Ok(())
}

const INHERITED: [&[&str]; 3] = [&["lints"], &["package", "version"], &["package", "edition"]];

fn check_manifest(crate_name: &str, text: &str) -> Result<Vec<Violation>> {
    let manifest: Table =
        text.parse().with_context(|| format!("the manifest of {crate_name} is not valid TOML"))?;
    let not_inherited = INHERITED.iter().filter(|path| !inherits(&manifest, path)).map(|path| Violation {
        rule: "every crate takes lints, version and edition from the workspace",
        what: format!("{crate_name}: {}", path.join(".")),
        fix: format!("write `{}.workspace = true` in its Cargo.toml", path.join(".")),
    });
    // A feature that only some package selections enable would compile the dependency twice.
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

fn check_layout(entries: &BTreeSet<String>) -> Vec<Violation> {
    let is_allowed =
        |entry: &str| ALLOWED.contains(&entry) || entry.starts_with('.') || entry.starts_with("LICENSE");
    let unexpected = entries.iter().filter(|entry| !is_allowed(entry)).map(|entry| Violation {
        rule: "the top of the repository has only what the layout names",
        what: entry.clone(),
        fix: "move it under crates, docs, migrations or tests".to_owned(),
    });
    unexpected.collect()
}

/// Returns the tracked top-level entries, or without git all entries but build output.
fn top_level_entries() -> Result<BTreeSet<String>> {
    if let Ok(files) = Invocation::new("git ls-files -z").output() {
        let first_part = |path: &str| path.split('/').next().map(String::from);
        return Ok(files.split('\0').filter(|path| !path.is_empty()).filter_map(first_part).collect());
    }
    let mut entries = BTreeSet::new();
    for entry in root()?.read_dir().context("cannot list the top of the repository")? {
        entries.insert(entry?.file_name().to_string_lossy().into_owned());
    }
    entries.remove("target");
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_keeps_the_rules() {
        let text: Vec<String> = violations().unwrap().iter().map(ToString::to_string).collect();
        assert!(text.is_empty(), "{}", text.join("\n"));
    }

    const GOOD: &str = "
        [package]
        name = 'x'
        version.workspace = true
        edition = { workspace = true }
        [lints]
        workspace = true";

    #[test]
    fn manifests_must_inherit_from_the_workspace() {
        assert!(check_manifest("x", GOOD).unwrap().is_empty());
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

    #[test]
    fn reports_unexpected_top_level_entries() {
        let names = [&ALLOWED[..], &[".github", ".ci", "LICENSE-MIT", "LICENSE-APACHE", "scripts"]].concat();
        let violations = check_layout(&names.iter().map(ToString::to_string).collect());
        assert_eq!(violations.len(), 1);
        assert!(violations[0].to_string().starts_with("scripts\n"), "{}", violations[0]);
    }
}
