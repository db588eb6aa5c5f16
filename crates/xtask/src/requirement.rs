//! Tools that a step needs and a machine may not have.

use anyhow::{Context, Result, ensure};

use crate::invocation::Invocation;

/// Compared by name.
#[derive(Debug)]
pub(crate) struct Requirement {
    pub(crate) name: &'static str,
    /// Succeeds where the tool is present.
    detect: &'static str,
    install: &'static str,
    without: Without,
}

/// What becomes of the work when the tool is missing.
#[derive(Debug)]
enum Without {
    Skipped(&'static str),
    /// Something else does the same work, so that nothing is lost.
    Replaced(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum WhenMissing {
    Report,
    /// Tools that have a replacement are not worth the minutes that building them takes.
    InstallWhatWouldBeSkipped,
    InstallEverything,
}

pub(crate) const CARGO_DENY: Requirement = Requirement {
    name: "cargo-deny",
    detect: "cargo deny --version",
    install: "cargo install --locked cargo-deny",
    without: Without::Skipped("licences, sources and bans of the dependencies are not checked"),
};

pub(crate) const CARGO_NEXTEST: Requirement = Requirement {
    name: "cargo-nextest",
    detect: "cargo nextest --version",
    install: "cargo install --locked cargo-nextest",
    without: Without::Replaced("`cargo test` runs the same tests, one program after the other"),
};

pub(crate) const CARGO_TARPAULIN: Requirement = Requirement {
    name: "cargo-tarpaulin",
    detect: "cargo tarpaulin --version",
    install: "cargo install --locked cargo-tarpaulin",
    without: Without::Skipped("coverage is not measured"),
};

pub(crate) const CARGO_MUTANTS: Requirement = Requirement {
    name: "cargo-mutants",
    detect: "cargo mutants --version",
    install: "cargo install --locked cargo-mutants",
    without: Without::Skipped("no mutants are tried"),
};

impl Requirement {
    fn is_met(&self) -> bool {
        Invocation::new(self.detect).succeeds_quietly()
    }

    fn is_installed_under(&self, policy: WhenMissing) -> bool {
        match policy {
            WhenMissing::Report => false,
            WhenMissing::InstallWhatWouldBeSkipped => matches!(self.without, Without::Skipped(_)),
            WhenMissing::InstallEverything => true,
        }
    }

    fn install(&self) -> Result<()> {
        let invocation = Invocation::new(self.install);
        println!("==> {} is missing: {invocation}", self.name);
        invocation.run().with_context(|| format!("{} could not be installed", self.name))?;
        ensure!(self.is_met(), "{} was installed, yet `{}` still fails", self.name, self.detect);
        Ok(())
    }

    /// What the summary says about the missing tool, and how to do better next time.
    fn remark(&self) -> String {
        let (what, consequence) = match self.without {
            Without::Skipped(loss) => ("skipped", loss),
            Without::Replaced(replacement) => ("replaced", replacement),
        };
        format!("{what}: {} is missing, so {consequence}; to enable: {}", self.name, self.install)
    }
}

/// Which of the required tools this machine does not have.
#[derive(Debug)]
pub(crate) struct MissingTools(Vec<&'static Requirement>);

impl MissingTools {
    /// Looks for the tools and installs what the policy tells it to.
    pub(crate) fn among(
        required: impl IntoIterator<Item = &'static Requirement>,
        policy: WhenMissing,
    ) -> Result<Self> {
        let mut missing = Vec::new();
        for requirement in required {
            if requirement.is_met() {
                continue;
            }
            if requirement.is_installed_under(policy) {
                requirement.install()?;
            } else {
                missing.push(requirement);
            }
        }
        Ok(Self(missing))
    }

    pub(crate) fn includes(&self, requirement: &Requirement) -> bool {
        self.0.iter().any(|missing| missing.name == requirement.name)
    }

    pub(crate) fn remarks(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|requirement| requirement.remark())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABSENT: Requirement = Requirement {
        name: "absent",
        detect: "no-such-program-anywhere",
        install: "cargo --version",
        without: Without::Skipped("nothing was checked"),
    };
    const REPLACEABLE: Requirement =
        Requirement { without: Without::Replaced("something else ran"), name: "replaceable", ..ABSENT };
    const PRESENT: Requirement = Requirement { name: "present", detect: "cargo --version", ..ABSENT };

    #[test]
    fn what_is_missing_is_reported_with_the_command_that_enables_it() {
        let missing = MissingTools::among([&ABSENT, &REPLACEABLE, &PRESENT], WhenMissing::Report).unwrap();
        assert!(missing.includes(&ABSENT) && missing.includes(&REPLACEABLE) && !missing.includes(&PRESENT));
        let remarks: Vec<String> = missing.remarks().collect();
        assert_eq!(
            remarks,
            [
                "skipped: absent is missing, so nothing was checked; to enable: cargo --version",
                "replaced: replaceable is missing, so something else ran; to enable: cargo --version",
            ]
        );
    }

    #[test]
    fn ci_installs_only_what_has_no_replacement() {
        let policy = WhenMissing::InstallWhatWouldBeSkipped;
        assert!(MissingTools::among([&REPLACEABLE], policy).unwrap().includes(&REPLACEABLE));
        assert!(ABSENT.is_installed_under(policy));
    }

    #[test]
    fn an_installation_that_does_not_help_is_an_error() {
        let error = MissingTools::among([&ABSENT], WhenMissing::InstallEverything).unwrap_err();
        assert!(error.to_string().starts_with("absent was installed, yet"), "{error}");
    }
}
