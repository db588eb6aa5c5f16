//! Checks with cargo-mutants whether the tests detect changed rules of the domain.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

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

impl Subject {
    /// The timeout of a minute allows for busy machines: a mutant that only timed out was not caught by a test.
    fn command(&self) -> String {
        let Self { name, files, tests } = self;
        format!(
            "cargo mutants --package {name} --output target/mutants/{name} --minimum-test-timeout 60 {files} {tests}"
        )
    }

    fn outcomes(&self) -> String {
        format!("target/mutants/{}/mutants.out/outcomes.json", self.name)
    }
}

const NONE: &str = "There was nothing to change: did the files move?";

/// Exit codes of a finished run with findings.
const MISSED: i32 = 2;
const TIMED_OUT: i32 = 3;

#[derive(Deserialize)]
struct Outcomes {
    caught: usize,
    missed: usize,
    /// A mutant that never ends does not pass the tests either.
    timeout: usize,
    unviable: usize,
}

pub(super) fn run() -> Result<()> {
    for subject in &SUBJECTS {
        try_mutants(subject)?;
    }
    Ok(())
}

fn try_mutants(subject: &Subject) -> Result<()> {
    // In the folder of the mutated copy: a shared one would leak mutants into the next ordinary build.
    let invocation = Invocation::new(&subject.command()).with_environment([("CARGO_TARGET_DIR", "target")]);
    let status = invocation.status()?;
    if !matches!(status.code(), Some(0 | MISSED | TIMED_OUT)) {
        bail!("`{invocation}` ended with {status}");
    }
    let path = root()?.join(subject.outcomes());
    let text =
        fs::read_to_string(&path).with_context(|| format!("there is no {}. {NONE}", subject.outcomes()))?;
    judge(&text).with_context(|| subject.name)
}

fn judge(outcomes: &str) -> Result<()> {
    let outcomes: Outcomes =
        serde_json::from_str(outcomes).context("the outcomes of cargo-mutants have an unknown format")?;
    let Outcomes { caught, missed, timeout, unviable } = outcomes;
    println!(
        "mutants: {} caught ({timeout} by time), {missed} missed, {unviable} unviable",
        caught + timeout
    );
    ensure!(caught + timeout + missed > 0, "{NONE}");
    ensure!(missed == 0, "{missed} mutant(s) survived the tests; missed.txt beside the outcomes lists them");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(caught: usize, missed: usize, timeout: usize, unviable: usize) -> Result<()> {
        judge(&format!(
            r#"{{"outcomes": [], "caught": {caught}, "missed": {missed}, "timeout": {timeout}, "unviable": {unviable}}}"#
        ))
    }

    #[test]
    fn passes_if_all_mutants_are_caught_or_time_out() {
        judged(12, 0, 1, 3).unwrap();
    }

    #[test]
    fn fails_on_one_missed_mutant() {
        let error = judged(12, 1, 0, 0).unwrap_err().to_string();
        assert!(error.starts_with("1 mutant(s) survived"), "{error}");
    }

    #[test]
    fn fails_without_any_mutant() {
        assert!(judged(0, 0, 0, 2).is_err());
    }
}
