//! Tools that steps need and that a machine may lack.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::dist;
use crate::invocation::{Invocation, root};

/// A tool, identified by its name.
#[derive(Debug)]
pub(crate) struct Requirement {
    pub(crate) name: &'static str,
    is_met: fn() -> bool,
    /// Returns the commands that install it. Empty if none is known for this machine.
    install: fn() -> Vec<Invocation>,
    /// The consequence of a missing tool.
    without: &'static str,
}

#[derive(Clone, Copy)]
pub(crate) enum WhenMissing {
    Report,
    /// Does not install tools with a replacement, because building them takes minutes.
    InstallWhatWouldBeSkipped,
    InstallEverything,
}

pub(crate) const CARGO_DENY: Requirement = Requirement {
    name: "cargo-deny",
    is_met: || runs("cargo deny --version"),
    install: || vec![Invocation::new("cargo install --locked cargo-deny")],
    without: "licences, sources and bans of the dependencies are not checked",
};

pub(crate) const CARGO_NEXTEST: Requirement = Requirement {
    name: "cargo-nextest",
    is_met: || runs("cargo nextest --version"),
    install: || vec![Invocation::new("cargo install --locked cargo-nextest")],
    without: "`cargo test` runs the same tests, one program after the other",
};

pub(crate) const CARGO_TARPAULIN: Requirement = Requirement {
    name: "cargo-tarpaulin",
    is_met: || runs("cargo tarpaulin --version"),
    install: || vec![Invocation::new("cargo install --locked cargo-tarpaulin")],
    without: "coverage is not measured",
};

pub(crate) const CARGO_MUTANTS: Requirement = Requirement {
    name: "cargo-mutants",
    is_met: || runs("cargo mutants --version"),
    install: || vec![Invocation::new("cargo install --locked cargo-mutants")],
    without: "no mutants are tried",
};

/// The database server for storage tests. Debian's package also starts its own server on the default port, which the
/// tests do not use.
pub(crate) const POSTGRESQL: Requirement = Requirement {
    name: "PostgreSQL",
    is_met: || xtask::postgres::is_given() || xtask::postgres::is_installed(),
    install: || system_packages("postgresql"),
    without: "the tests that need its server did not run",
};

/// The browser for dashboard tests.
pub(crate) const CHROMIUM: Requirement = Requirement {
    name: "Chromium",
    is_met: || xtask::BROWSERS.into_iter().any(has),
    install: || system_packages(if is_debian() { xtask::BROWSERS[0] } else { "chromium" }),
    without: "the dashboard is not tested in a browser",
};

/// Runs the kits in JavaScript and TypeScript; npm installs their test dependencies.
pub(crate) const NODE: Requirement = Requirement {
    name: "Node.js",
    is_met: || has("node") && has("npm"),
    install: || system_packages("nodejs npm"),
    without: "the request collection is not tested",
};

/// The libraries that the kits for Node.js are tested with. The tests install the package itself beside them.
pub(crate) const DISCORD_JS: Requirement = Requirement {
    name: "discord.js",
    is_met: || root().is_ok_and(|root| root.join(KIT_MODULES).join("node_modules/ws").is_dir()),
    install: || {
        with_npm(&[
            &format!("mkdir -p {KIT_MODULES}"),
            &format!("cp docs/kits/tests/package.json {KIT_MODULES}"),
            &format!("npm install --no-package-lock --no-audit --no-fund --prefix {KIT_MODULES}"),
        ])
    },
    without: "the kit for discord.js and the typed client are not tested",
};
pub(crate) const KIT_MODULES: &str = "target/kit-modules";

/// The library that the kit for Python is tested with, in an environment of its own, and what builds and checks the
/// package. The tests install the package itself.
pub(crate) const DISCORD_PY: Requirement = Requirement {
    name: "discord.py",
    is_met: || {
        let is_installed = |package| runs(&format!("{KIT_PYTHON} -m pip show --quiet {package}"));
        ["discord.py", "flit_core", "mypy"].into_iter().all(is_installed)
    },
    install: || {
        // Debian packages venv separately.
        let has_venv = runs("python3 -m ensurepip --version");
        let mut commands = if has_venv { Vec::new() } else { system_packages("python3-venv") };
        commands.push(Invocation::new("python3 -m venv target/kits"));
        commands.push(Invocation::new(&format!(
            "{KIT_PYTHON} -m pip install --quiet --disable-pip-version-check -r docs/kits/tests/requirements.txt"
        )));
        commands
    },
    without: "the kit for discord.py is not tested",
};
pub(crate) const KIT_PYTHON: &str = "target/kits/bin/python";

/// The accessibility checker. Its licence differs from ours, so it is not part of the repository.
pub(crate) const AXE: Requirement = Requirement {
    name: "axe-core",
    is_met: || root().is_ok_and(|root| root.join(AXE_FILE).is_file()),
    install: || {
        with_npm(&["npm install --no-save --no-audit --no-fund --prefix target/axe-core axe-core@4.10.3"])
    },
    without: "the dashboard is not tested for accessibility",
};
const AXE_FILE: &str = "target/axe-core/node_modules/axe-core/axe.min.js";

/// The proxy of the documentation and of the request smuggling tests, and the programs that test it. Debian's package
/// also starts its own server.
pub(crate) const NGINX: Requirement = Requirement {
    name: "nginx",
    is_met: || runs("nginx -v") && runs("openssl version") && has("curl"),
    install: || system_packages("nginx openssl curl"),
    without: "the documented proxy and request smuggling through it are not tested",
};

/// Checks alert rules. Debian's package also starts its own server.
pub(crate) const PROMTOOL: Requirement = Requirement {
    name: "promtool",
    is_met: || has("promtool"),
    install: || system_packages("prometheus"),
    without: "the alerts are not tested",
};

/// Merges the raw profiles of a training run.
pub(crate) const LLVM_TOOLS: Requirement = Requirement {
    name: "llvm-tools",
    is_met: || dist::profdata().is_ok_and(|program| program.is_file()),
    install: || vec![Invocation::new("rustup component add llvm-tools")],
    without: "the program is built without profile-guided optimization, and `deep instructions` is skipped",
};

/// Counts instructions.
pub(crate) const VALGRIND: Requirement = Requirement {
    name: "valgrind",
    is_met: || has("valgrind"),
    install: || system_packages("valgrind"),
    without: "the instructions of a request are not counted",
};

fn runs(line: &str) -> bool {
    Invocation::new(line).succeeds_quietly()
}

fn has(program: &str) -> bool {
    runs(&format!("{program} --version"))
}

fn is_debian() -> bool {
    fs::read_to_string("/etc/os-release").is_ok_and(|system| system.lines().any(|line| line == "ID=debian"))
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn with_npm(lines: &[&str]) -> Vec<Invocation> {
    if has("npm") { lines.iter().map(|line| Invocation::new(line)).collect() } else { Vec::new() }
}

fn system_packages(names: &str) -> Vec<Invocation> {
    packages(names, has, is_root())
}

/// Returns the commands that install packages. Empty if the package manager is unknown.
fn packages(names: &str, is_there: impl Fn(&str) -> bool, is_root: bool) -> Vec<Invocation> {
    if is_there("apt-get") {
        let as_root = if is_root { "" } else { "sudo " };
        // Packages must not ask questions, for instance about the time zone.
        let install = format!("env DEBIAN_FRONTEND=noninteractive apt-get install -y {names}");
        ["apt-get update", &install].map(|line| Invocation::new(&format!("{as_root}{line}"))).to_vec()
    } else if is_there("brew") {
        vec![Invocation::new(&format!("brew install {names}"))]
    } else {
        Vec::new()
    }
}

impl Requirement {
    /// Whether something else does the same work, so that nothing is skipped.
    fn is_replaced(&self) -> bool {
        self.name == CARGO_NEXTEST.name
    }

    fn try_install(&self) -> Result<()> {
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
            return format!("install {} with the package manager of this system", self.name);
        }
        commands.join(" && ")
    }

    /// Returns the summary's line about the missing tool, and how to enable it.
    pub(crate) fn remark(&self) -> String {
        let what = if self.is_replaced() { "replaced" } else { "skipped" };
        format!("{what}: {} is missing, so {}; to enable: {}", self.name, self.without, self.how_to_enable())
    }
}

/// The required tools that this machine lacks.
#[derive(Debug, Default)]
pub(crate) struct MissingTools(pub(crate) Vec<&'static Requirement>);

impl MissingTools {
    /// Looks for the tools, and installs missing ones as the policy says.
    pub(crate) fn among(
        required: impl IntoIterator<Item = &'static Requirement>,
        policy: WhenMissing,
    ) -> Result<Self> {
        let mut missing = Vec::new();
        for requirement in required {
            if (requirement.is_met)() {
                continue;
            }
            match policy {
                WhenMissing::InstallEverything => requirement.try_install()?,
                WhenMissing::InstallWhatWouldBeSkipped if !requirement.is_replaced() => {
                    requirement.try_install()?;
                }
                WhenMissing::InstallWhatWouldBeSkipped | WhenMissing::Report => missing.push(requirement),
            }
        }
        Ok(Self(missing))
    }

    pub(crate) fn includes(&self, requirement: &Requirement) -> bool {
        self.0.iter().any(|missing| missing.name == requirement.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABSENT: Requirement = Requirement {
        name: "absent",
        is_met: || runs("no-such-program-anywhere"),
        install: || ["cargo --version", "cargo --list"].map(Invocation::new).to_vec(),
        without: "nothing was checked",
    };
    const REPLACED: Requirement = Requirement { name: CARGO_NEXTEST.name, ..ABSENT };
    const PRESENT: Requirement =
        Requirement { name: "present", is_met: || runs("cargo --version"), ..ABSENT };
    const UNKNOWN_HERE: Requirement = Requirement { name: "unknown", install: Vec::new, ..ABSENT };

    #[test]
    fn reports_missing_tools_with_their_install_command() {
        let missing = MissingTools::among([&ABSENT, &REPLACED, &PRESENT], WhenMissing::Report).unwrap();
        let remarks: Vec<String> = missing.0.iter().map(|tool| tool.remark()).collect();
        let enabled = "to enable: cargo --version && cargo --list";
        assert_eq!(
            remarks,
            [
                format!("skipped: absent is missing, so nothing was checked; {enabled}"),
                format!("replaced: cargo-nextest is missing, so nothing was checked; {enabled}"),
            ]
        );
    }

    #[test]
    fn installs_what_the_policy_says_and_fails_if_it_cannot() {
        let (ci, all) = (WhenMissing::InstallWhatWouldBeSkipped, WhenMissing::InstallEverything);
        assert!(MissingTools::among([&REPLACED], ci).unwrap().includes(&REPLACED));
        for (requirement, policy, said) in [
            (&ABSENT, ci, "absent was installed, yet it is still not found"),
            (&ABSENT, all, "absent was installed, yet it is still not found"),
            (&REPLACED, all, "cargo-nextest was installed, yet it is still not found"),
            (
                &UNKNOWN_HERE,
                ci,
                "unknown is missing: install unknown with the package manager of this system",
            ),
        ] {
            let error = MissingTools::among([requirement], policy).unwrap_err();
            assert_eq!(error.to_string(), said);
        }
    }

    #[test]
    fn uses_the_package_manager_of_the_system() {
        let install = "env DEBIAN_FRONTEND=noninteractive apt-get install -y thing";
        for (programs, is_root, expected) in [
            (&["apt-get", "brew"][..], true, Some(install.to_owned())),
            (&["apt-get"], false, Some(format!("sudo {install}"))),
            (&["brew"], false, Some("brew install thing".to_owned())),
            (&["pacman"], true, None),
        ] {
            let commands = packages("thing", |program| programs.contains(&program), is_root);
            assert_eq!(commands.last().map(ToString::to_string), expected, "{programs:?}");
        }
    }
}
