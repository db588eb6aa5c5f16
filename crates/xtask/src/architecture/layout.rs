//! What may lie at the top of the repository.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use super::violation::Violation;
use crate::invocation::Invocation;
use crate::repository;

const ALLOWED: [&str; 7] = ["Cargo.lock", "Cargo.toml", "README.md", "crates", "docs", "migrations", "tests"];

pub(super) fn check(entries: &BTreeSet<String>) -> Vec<Violation> {
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

    fn entries(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_layout_itself_is_allowed() {
        let names = [&ALLOWED[..], &[".github", ".ci", "LICENSE-MIT", "LICENSE-APACHE"]].concat();
        assert!(check(&entries(&names)).is_empty());
    }

    #[test]
    fn a_stray_entry_is_named() {
        let violations = check(&entries(&["Cargo.toml", "scripts"]));
        assert_eq!(violations.len(), 1);
        assert!(violations[0].to_string().starts_with("scripts\n"), "{}", violations[0]);
    }
}
