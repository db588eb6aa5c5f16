//! Checks with cargo-mutants whether the tests detect changed rules of the domain.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::invocation::{Invocation, root};

/// Mutated code, and the tests that must detect the mutations.
struct Subject {
    name: &'static str,
    files: &'static str,
    /// Arguments of cargo, after the package.
    tests: &'static str,
}

/// Permissions, tokens and sessions, sealing, and the cache.
const SUBJECTS: [Subject; 3] = [
    Subject {
        name: "companion-domain",
        files: "--file crates/domain/src/policy/** --file crates/domain/src/session/** \
                --file crates/domain/src/usecase/token_box.rs",
        tests: "",
    },
    Subject { name: "companion", files: "--file crates/companion/src/vault.rs", tests: "-- --lib" },
    Subject { name: "companion-cache", files: "--file crates/cache/src/**", tests: "" },
];

/// Exit codes of a finished run with findings. A mutant that never ends does not pass the tests either.
const MISSED: i32 = 2;
const TIMED_OUT: i32 = 3;

pub(super) fn run() -> Result<()> {
    for Subject { name, files, tests } in &SUBJECTS {
        let folder = format!("target/mutants/{name}");
        // The timeout of a minute allows for busy machines: a mutant that only timed out was not caught by a test.
        let command = format!(
            "cargo mutants --package {name} --output {folder} --minimum-test-timeout 60 {files} {tests}"
        );
        // In the folder of the mutated copy: a shared one would leak mutants into the next ordinary build.
        let invocation = Invocation::new(&command).with_environment([("CARGO_TARGET_DIR", "target")]);
        let status = invocation.status()?;
        ensure!(
            status.code() != Some(MISSED),
            "mutants survived the tests; missed.txt beside the outcomes lists them"
        );
        ensure!(matches!(status.code(), Some(0 | TIMED_OUT)), "`{invocation}` ended with {status}");
        let outcomes = root()?.join(folder).join("mutants.out/outcomes.json");
        let outcomes = fs::read_to_string(outcomes).unwrap_or_default();
        ensure!(has_tried(&outcomes), "there was nothing to change in {name}: did the files move?");
    }
    Ok(())
}

/// Whether the tests ran against a mutant.
fn has_tried(outcomes: &str) -> bool {
    let outcomes: Value = serde_json::from_str(outcomes).unwrap_or_default();
    ["caught", "timeout"].into_iter().any(|kind| outcomes.get(kind).is_some_and(|count| *count != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unviable_mutants_are_not_tried() {
        for (outcomes, is_tried) in [
            (r#"{"outcomes": [], "caught": 12, "missed": 0, "timeout": 0, "unviable": 3}"#, true),
            (r#"{"outcomes": [], "caught": 0, "missed": 0, "timeout": 1, "unviable": 0}"#, true),
            (r#"{"outcomes": [], "caught": 0, "missed": 0, "timeout": 0, "unviable": 2}"#, false),
            ("", false),
        ] {
            assert_eq!(has_tried(outcomes), is_tried, "{outcomes}");
        }
    }
}
