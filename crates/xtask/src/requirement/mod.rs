//! Tools that a step needs and a machine may not have.

mod package;

use anyhow::{Context, Result, ensure};

use crate::invocation::Invocation;
pub(crate) use package::{
    AXE, CHROMIUM, DISCORD_JS, DISCORD_PY, KIT_MODULES, KIT_PYTHON, NGINX, NODE, POSTGRESQL, PROMTOOL,
    VALGRIND,
};

/// Compared by name.
#[derive(Debug)]
pub(crate) struct Requirement {
    pub(crate) name: &'static str,
    is_met: fn() -> bool,
    /// What to run on this machine, one after the other; nothing where no way is known.
    install: fn() -> Vec<Invocation>,
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
    is_met: || runs("cargo deny --version"),
    install: || vec![Invocation::new("cargo install --locked cargo-deny")],
    without: Without::Skipped("licences, sources and bans of the dependencies are not checked"),
};

pub(crate) const CARGO_NEXTEST: Requirement = Requirement {
    name: "cargo-nextest",
    is_met: || runs("cargo nextest --version"),
    install: || vec![Invocation::new("cargo install --locked cargo-nextest")],
    without: Without::Replaced("`cargo test` runs the same tests, one program after the other"),
};

pub(crate) const CARGO_TARPAULIN: Requirement = Requirement {
    name: "cargo-tarpaulin",
    is_met: || runs("cargo tarpaulin --version"),
    install: || vec![Invocation::new("cargo install --locked cargo-tarpaulin")],
    without: Without::Skipped("coverage is not measured"),
};

pub(crate) const CARGO_MUTANTS: Requirement = Requirement {
    name: "cargo-mutants",
    is_met: || runs("cargo mutants --version"),
    install: || vec![Invocation::new("cargo install --locked cargo-mutants")],
    without: Without::Skipped("no mutants are tried"),
};

fn runs(line: &str) -> bool {
    Invocation::new(line).succeeds_quietly()
}

impl Requirement {
    fn is_installed_under(&self, policy: WhenMissing) -> bool {
        match policy {
            WhenMissing::Report => false,
            WhenMissing::InstallWhatWouldBeSkipped => matches!(self.without, Without::Skipped(_)),
            WhenMissing::InstallEverything => true,
        }
    }

    fn install(&self) -> Result<()> {
        let commands = (self.install)();
        ensure!(!commands.is_empty(), "{} is missing: {}", self.name, self.how_to_enable());
        println!("==> {} is missing: {}", self.name, self.how_to_enable());
        for command in commands {
            command.run().with_context(|| format!("{} could not be installed", self.name))?;
        }
        ensure!((self.is_met)(), "{} was installed, yet it is still not found", self.name);
        Ok(())
    }

    fn how_to_enable(&self) -> String {
        let commands: Vec<String> = (self.install)().iter().map(ToString::to_string).collect();
        if commands.is_empty() {
            return format!("install {} in the way of this system", self.name);
        }
        commands.join(" && ")
    }

    /// What the summary says about the missing tool, and how to do better next time.
    fn remark(&self) -> String {
        let (what, consequence) = match self.without {
            Without::Skipped(loss) => ("skipped", loss),
            Without::Replaced(replacement) => ("replaced", replacement),
        };
        format!("{what}: {} is missing, so {consequence}; to enable: {}", self.name, self.how_to_enable())
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
            if (requirement.is_met)() {
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
        is_met: || runs("no-such-program-anywhere"),
        install: || vec![Invocation::new("cargo --version"), Invocation::new("cargo --list")],
        without: Without::Skipped("nothing was checked"),
    };
    const REPLACEABLE: Requirement =
        Requirement { without: Without::Replaced("something else ran"), name: "replaceable", ..ABSENT };
    const PRESENT: Requirement =
        Requirement { name: "present", is_met: || runs("cargo --version"), ..ABSENT };
    const UNKNOWN_HERE: Requirement = Requirement { name: "unknown", install: Vec::new, ..ABSENT };

    #[test]
    fn what_is_missing_is_reported_with_the_command_that_enables_it() {
        let missing = MissingTools::among([&ABSENT, &REPLACEABLE, &PRESENT], WhenMissing::Report).unwrap();
        assert!(missing.includes(&ABSENT) && missing.includes(&REPLACEABLE) && !missing.includes(&PRESENT));
        let remarks: Vec<String> = missing.remarks().collect();
        assert_eq!(
            remarks,
            [
                "skipped: absent is missing, so nothing was checked; to enable: cargo --version && cargo --list",
                "replaced: replaceable is missing, so something else ran; to enable: cargo --version && cargo --list",
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

    #[test]
    fn what_nobody_knows_how_to_install_is_said_to_be_missing() {
        assert!(UNKNOWN_HERE.remark().ends_with("to enable: install unknown in the way of this system"));
        let error = MissingTools::among([&UNKNOWN_HERE], WhenMissing::InstallEverything).unwrap_err();
        assert_eq!(error.to_string(), "unknown is missing: install unknown in the way of this system");
    }
}
