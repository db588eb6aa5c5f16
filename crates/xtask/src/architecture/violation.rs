//! What the checks find.

use std::fmt;

/// A broken rule: what breaks it, and the way out.
#[derive(Debug)]
pub(super) struct Violation {
    pub(super) rule: &'static str,
    pub(super) what: String,
    pub(super) fix: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}\n    rule: {}\n    fix:  {}", self.what, self.rule, self.fix)
    }
}
