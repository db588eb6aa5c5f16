//! Checks whether `serve` would accept the configuration.

use super::{
    check::{Check, Installation, Status, Subject},
    report::one_line,
};
use crate::configuration::{Effective, KeyError, Source};

const NAME: &str = "configuration";

pub(super) fn check(installation: &Installation, warnings: &[KeyError]) -> Vec<Check> {
    let told = |status: Status, error: &KeyError| Check {
        name: NAME,
        key: error.key.clone(),
        status,
        cause: format!("{} ({})", one_line(&error.problem), error.source),
        remedy: Some(one_line(&error.fix)),
    };
    let errors = installation.errors.iter().map(|error| told(Status::Failed, error));
    let warnings = warnings.iter().map(|warning| told(Status::Warning, warning));
    let mut checks: Vec<_> = errors.chain(warnings).collect();
    if checks.is_empty() {
        checks.push(Subject::new(NAME, "--config").ok(sources(&installation.effective)));
    }
    checks
}

/// Returns how many keys are set, and where.
fn sources(effective: &[Effective]) -> String {
    let set: Vec<_> = effective.iter().filter(|known| known.source != Source::Default).collect();
    let file = set.iter().find_map(|known| match &known.source {
        Source::Line(path, _) => Some(path.display().to_string()),
        _ => None,
    });
    let keys = match set.len() {
        0 => return "every key has its default; serve accepts that".to_owned(),
        1 => "1 key is".to_owned(),
        count => format!("{count} keys are"),
    };
    let outside = set.iter().any(|known| !matches!(known.source, Source::Line(..)));
    match file {
        Some(file) if outside => format!("{keys} set, in {file} and the environment; serve accepts them"),
        Some(file) => format!("{keys} set, in {file}; serve accepts them"),
        None => format!("{keys} set, in the environment; serve accepts them"),
    }
}
