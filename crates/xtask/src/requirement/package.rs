//! Tools that the system's own package manager installs.

use super::{Requirement, Without, runs};
use crate::invocation::Invocation;

/// The database server that storage is tested against. Debian's package also starts a server of its own, on the usual
/// port, which is in nobody's way.
pub(crate) const POSTGRESQL: Requirement = Requirement {
    name: "PostgreSQL",
    is_met: || xtask::postgres::is_given() || xtask::postgres::is_installed(),
    install: || commands("postgresql", has, is_root()),
    without: Without::Skipped("the tests that need its server did not run"),
};

/// The browser that the dashboard is tested in. Chrome is one, too.
pub(crate) const CHROMIUM: Requirement = Requirement {
    name: "Chromium",
    is_met: || CHROMIUMS.into_iter().any(has),
    install: || commands("chromium", has, is_root()),
    without: Without::Skipped("the dashboard is not tested in a browser"),
};
const CHROMIUMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Runs the kits in JavaScript and TypeScript, and its npm brings what they are tested with.
pub(crate) const NODE: Requirement = Requirement {
    name: "Node.js",
    is_met: || has("node") && has("npm"),
    install: || commands("nodejs npm", has, is_root()),
    without: Without::Skipped("the request collection is not tested"),
};

/// The libraries that the kits for Node.js are tested with.
pub(crate) const DISCORD_JS: Requirement = Requirement {
    name: "discord.js",
    is_met: || {
        crate::repository::root().is_ok_and(|root| root.join(KIT_MODULES).join("node_modules/ws").is_dir())
    },
    install: || {
        if !has("npm") {
            return Vec::new();
        }
        let folder = format!("mkdir -p {KIT_MODULES}");
        let versions = format!("cp docs/kits/tests/package.json {KIT_MODULES}");
        let install = format!("npm install --no-package-lock --no-audit --no-fund --prefix {KIT_MODULES}");
        [folder, versions, install].iter().map(|line| Invocation::new(line)).collect()
    },
    without: Without::Skipped("the kit for discord.js and the typed client are not tested"),
};
pub(crate) const KIT_MODULES: &str = "target/kit-modules";

/// The library that the kit for Python is tested with, in an environment of its own.
pub(crate) const DISCORD_PY: Requirement = Requirement {
    name: "discord.py",
    is_met: || runs(&format!("{KIT_PYTHON} -m pip show --quiet discord.py")),
    install: || {
        // Debian leaves out of Python what makes such environments.
        let has_venv = runs("python3 -m ensurepip --version");
        let mut commands = if has_venv { Vec::new() } else { commands("python3-venv", has, is_root()) };
        commands.push(Invocation::new("python3 -m venv target/kits"));
        commands.push(Invocation::new(&format!(
            "{KIT_PYTHON} -m pip install --quiet --disable-pip-version-check -r docs/kits/tests/requirements.txt"
        )));
        commands
    },
    without: Without::Skipped("the kit for discord.py is not tested"),
};
pub(crate) const KIT_PYTHON: &str = "target/kits/bin/python";

/// Knows the rules of accessible pages. Its licence is not ours, so it is no part of the repository.
pub(crate) const AXE: Requirement = Requirement {
    name: "axe-core",
    is_met: || crate::repository::root().is_ok_and(|root| root.join(AXE_FILE).is_file()),
    install: || if has("npm") { vec![Invocation::new(AXE_INSTALL)] } else { Vec::new() },
    without: Without::Skipped("the dashboard is not tested for accessibility"),
};
const AXE_FILE: &str = "target/axe-core/node_modules/axe-core/axe.min.js";
const AXE_INSTALL: &str =
    "npm install --no-save --no-audit --no-fund --prefix target/axe-core axe-core@4.10.3";

/// The proxy that the documentation configures and that requests are smuggled through, and what its test asks it with. Debian's
/// package also starts a server of its own.
pub(crate) const NGINX: Requirement = Requirement {
    name: "nginx",
    is_met: || runs("nginx -v") && runs("openssl version") && has("curl"),
    install: || commands("nginx openssl curl", has, is_root()),
    without: Without::Skipped("the documented proxy is not tried, nor are hidden requests sent through one"),
};

/// Checks rules of alerts. Debian's package also starts a server of its own.
pub(crate) const PROMTOOL: Requirement = Requirement {
    name: "promtool",
    is_met: || has("promtool"),
    install: || commands("prometheus", has, is_root()),
    without: Without::Skipped("the alerts are not tested"),
};

/// Counts instructions.
pub(crate) const VALGRIND: Requirement = Requirement {
    name: "valgrind",
    is_met: || has("valgrind"),
    install: || commands("valgrind", has, is_root()),
    without: Without::Skipped("the instructions of a request are not counted"),
};

fn has(program: &str) -> bool {
    runs(&format!("{program} --version"))
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn commands(package: &str, is_there: impl Fn(&str) -> bool, is_root: bool) -> Vec<Invocation> {
    if is_there("apt-get") {
        let as_root = if is_root { "" } else { "sudo " };
        // Nobody is there to answer a question of a package, about the time zone for instance.
        let install = format!("env DEBIAN_FRONTEND=noninteractive apt-get install -y {package}");
        ["apt-get update", &install].map(|line| Invocation::new(&format!("{as_root}{line}"))).to_vec()
    } else if is_there("brew") {
        vec![Invocation::new(&format!("brew install {package}"))]
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_command(programs: &[&str], is_root: bool) -> Option<String> {
        commands("thing", |program| programs.contains(&program), is_root).last().map(ToString::to_string)
    }

    #[test]
    fn each_system_installs_it_in_its_own_way() {
        let install = "env DEBIAN_FRONTEND=noninteractive apt-get install -y thing";
        assert_eq!(last_command(&["apt-get", "brew"], true).unwrap(), install);
        assert_eq!(last_command(&["apt-get"], false).unwrap(), format!("sudo {install}"));
        assert_eq!(last_command(&["brew"], false).unwrap(), "brew install thing");
        assert_eq!(last_command(&["pacman"], true), None);
    }
}
