//! What each of our manifests takes from the workspace instead of deciding for itself.

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::violation::Violation;

const INHERITED: [&[&str]; 3] = [&["lints"], &["package", "version"], &["package", "edition"]];

pub(super) fn check(crate_name: &str, text: &str) -> Result<Vec<Violation>> {
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
        assert!(check("x", GOOD).unwrap().is_empty());
    }

    #[test]
    fn what_a_crate_decides_for_itself_is_named() {
        for (from, to, named) in [
            ("[lints]\n        workspace = true", "", "x: lints\n"),
            ("version.workspace = true", "version = '1.0.0'", "x: package.version\n"),
            ("{ workspace = true }", "'2021'", "x: package.edition\n"),
            ("[lints]", "[dev-dependencies]\ny = { workspace = true, features = ['z'] }\n[lints]", "x: y\n"),
        ] {
            let violations = check("x", &GOOD.replace(from, to)).unwrap();
            assert_eq!(violations.len(), 1, "{named}");
            assert!(violations[0].to_string().starts_with(named), "{}", violations[0]);
        }
    }
}
