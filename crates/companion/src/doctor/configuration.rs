//! Checks whether `serve` would accept the configuration.

use super::{
    check::{Check, Installation, Status, Subject},
    report::one_line,
};
use crate::configuration::{Effective, KeyError, Source};

const NAME: &str = "configuration";

pub(super) fn check(installation: &Installation) -> Vec<Check> {
    let told = |status: Status| {
        move |error: &KeyError| Check {
            name: NAME,
            key: error.key.clone(),
            status,
            cause: format!("{} ({})", one_line(&error.problem), error.source),
            remedy: Some(one_line(&error.fix)),
        }
    };
    let errors = installation.errors.iter().map(told(Status::Failed));
    let mut checks: Vec<_> = errors.chain(installation.warnings.iter().map(told(Status::Warning))).collect();
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
    let place = match file {
        Some(file) if outside => format!("{file} and the environment"),
        Some(file) => file,
        None => "the environment".to_owned(),
    };
    format!("{keys} set, in {place}; serve accepts them")
}
