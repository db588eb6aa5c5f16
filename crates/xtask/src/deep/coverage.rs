//! Measures the line coverage of the domain.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::invocation::{Invocation, root};

const DOMAIN: &str = "crates/domain/src/";
const POLICY: &str = "crates/domain/src/policy/";
const DOMAIN_PERCENT: f64 = 95.0;
const POLICY_PERCENT: f64 = 100.0;

/// Uses its own target folder, because its compiler flags would rebuild everything in the default one.
///
/// The use cases are tested over the memory adapter in the test kit, so those tests count too.
const TARPAULIN: &str = "cargo tarpaulin --locked --packages companion-domain --packages companion-testkit \
    --engine ptrace --skip-clean \
    --target-dir target/tarpaulin --include-files crates/domain/src/* --out Json --output-dir target/tarpaulin";
const REPORT: &str = "target/tarpaulin/tarpaulin-report.json";

#[derive(Deserialize)]
struct Report {
    files: Vec<ReportedFile>,
}

#[derive(Deserialize)]
struct ReportedFile {
    path: Vec<String>,
    covered: usize,
    coverable: usize,
}

#[derive(Debug, PartialEq)]
struct File {
    /// Relative to the repository root.
    path: String,
    covered: usize,
    coverable: usize,
}

pub(super) fn run() -> Result<()> {
    Invocation::new(TARPAULIN).run()?;
    let path = root()?.join(REPORT);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {REPORT}"))?;
    let files = domain_files(&text)?;
    println!("{}", table(&files));
    judge(&files)
}

fn domain_files(report: &str) -> Result<Vec<File>> {
    let report: Report = serde_json::from_str(report).context("the coverage report has an unknown format")?;
    let mut files: Vec<File> = report.files.iter().filter_map(in_domain).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn in_domain(file: &ReportedFile) -> Option<File> {
    let absolute = file.path.join("/");
    let path = absolute.get(absolute.find(DOMAIN)?..)?.to_owned();
    Some(File { path, covered: file.covered, coverable: file.coverable })
}

fn table(files: &[File]) -> String {
    let mut text = format!("{:<56}{:>9}{:>8}{:>9}", "file", "covered", "lines", "percent");
    for file in files {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n{:<56}{:>9}{:>8}{:>8.1}%",
            file.path,
            file.covered,
            file.coverable,
            percent([file])
        );
    }
    let _ = write!(text, "\ndomain {:.1} % (at least {DOMAIN_PERCENT} %)", percent(files));
    let _ = write!(text, ", policy {:.1} % (at least {POLICY_PERCENT} %)", percent(policy(files)));
    text
}

fn judge(files: &[File]) -> Result<()> {
    ensure!(policy(files).next().is_some(), "the report has no file under {POLICY}: did it move?");
    for file in policy(files) {
        ensure!(
            percent([file]) >= POLICY_PERCENT,
            "{} is covered to {:.1} %: every line of the policy must be tested",
            file.path,
            percent([file])
        );
    }
    let domain = percent(files);
    ensure!(domain >= DOMAIN_PERCENT, "the domain is covered to {domain:.1} %, below {DOMAIN_PERCENT} %");
    Ok(())
}

fn policy(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| file.path.starts_with(POLICY))
}

/// Returns 100 if there is no coverable line.
fn percent<'a>(files: impl IntoIterator<Item = &'a File>) -> f64 {
    let sum = |(covered, coverable), file: &File| (covered + file.covered, coverable + file.coverable);
    match files.into_iter().fold((0, 0), sum) {
        (_, 0) => 100.0,
        (covered, coverable) => 100.0 * covered as f64 / coverable as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, covered: usize, coverable: usize) -> File {
        File { path: format!("{DOMAIN}{path}"), covered, coverable }
    }

    #[test]
    fn keeps_only_domain_files_of_the_report() {
        let report = r#"{"files": [
            {"path": ["/", "home", "crates", "http", "src", "lib.rs"], "covered": 0, "coverable": 9},
            {"path": ["/", "home", "crates", "domain", "src", "team.rs"], "covered": 3, "coverable": 4, "more": 1}
        ]}"#;
        assert_eq!(domain_files(report).unwrap(), [file("team.rs", 3, 4)]);
    }

    #[test]
    fn passes_at_the_thresholds() {
        judge(&[file("policy/roles.rs", 40, 40), file("policy/words.rs", 0, 0), file("team.rs", 55, 60)])
            .unwrap();
    }

    #[test]
    fn fails_on_one_untested_policy_line() {
        let error = judge(&[file("policy/roles.rs", 999, 1000)]).unwrap_err().to_string();
        assert!(error.contains("policy/roles.rs is covered to 99.9 %"), "{error}");
    }

    #[test]
    fn fails_below_the_domain_threshold() {
        let error =
            judge(&[file("policy/roles.rs", 10, 10), file("team.rs", 84, 90)]).unwrap_err().to_string();
        assert!(error.contains("the domain is covered to 94.0 %"), "{error}");
    }

    #[test]
    fn fails_if_the_policy_folder_moved() {
        assert!(judge(&[file("team.rs", 10, 10)]).is_err());
    }
}
