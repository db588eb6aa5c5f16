//! Slow checks that ask how good the tests are, and print their figures.

mod coverage;
mod mutants;

use anyhow::Result;

use crate::requirement::{CARGO_MUTANTS, CARGO_TARPAULIN, Requirement, WhenMissing};
use crate::steps::{self, Step};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Check {
    Coverage,
    Mutants,
}

impl Check {
    pub(crate) const ALL: [Self; 2] = [Self::Coverage, Self::Mutants];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Coverage => "coverage",
            Self::Mutants => "mutants",
        }
    }

    fn tool(self) -> &'static Requirement {
        match self {
            Self::Coverage => &CARGO_TARPAULIN,
            Self::Mutants => &CARGO_MUTANTS,
        }
    }

    fn step(self) -> Step {
        let step = match self {
            Self::Coverage => Step::check(self.name(), "cargo xtask deep coverage", coverage::run),
            Self::Mutants => Step::check(self.name(), "cargo xtask deep mutants", mutants::run),
        };
        step.needing(self.tool())
    }
}

pub(crate) fn run(policy: WhenMissing, checks: &[Check]) -> Result<()> {
    let tools = checks.iter().map(|check| check.tool());
    steps::run(tools, policy, |_| checks.iter().map(|check| check.step()).collect())
}
