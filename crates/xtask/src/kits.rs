//! The kits of `docs/kits`, installed as packages and run with the libraries that they are for against the program itself.

use std::path::Path;
use std::thread;

use anyhow::{Result, anyhow};

use crate::invocation::{Invocation, root};
use crate::requirement::{DISCORD_JS, DISCORD_PY, KIT_MODULES, KIT_PYTHON, MissingTools};
use crate::steps::Step;

/// The language of a kit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Language {
    Node,
    Python,
}

impl Language {
    /// Returns the commands of its tests. They run one after the other, because each installs the package.
    fn tests(self) -> Vec<String> {
        let files = |command: &str, names: &[&str], ending: &str| {
            names.iter().map(|name| format!("{command}{name}{ending}")).collect()
        };
        match self {
            Self::Python => {
                let command = format!("{KIT_PYTHON} docs/kits/tests/test_");
                files(&command, &["discord", "package", "settings"], "_py.py")
            }
            Self::Node => {
                let names = ["discord-js", "package-js", "settings-js", "plain", "client", "requests"];
                files("node docs/kits/tests/test-", &names, ".mjs")
            }
        }
    }
}

/// Returns the step of the test command for the kits whose libraries are available.
pub(crate) fn step(missing: &MissingTools) -> Option<Step> {
    let libraries = [(Language::Python, "python", &DISCORD_PY), (Language::Node, "node", &DISCORD_JS)];
    let available = libraries.into_iter().filter(|(_, _, library)| !missing.includes(library));
    let (languages, names): (Vec<_>, Vec<_>) = available.map(|(language, name, _)| (language, name)).unzip();
    let repeat = format!("cargo xtask kits {}", names.join(" "));
    (!languages.is_empty()).then(|| Step::check("kits", &repeat, move || run(&languages)))
}

/// Tests the kits in these languages, or in all if none is named, at the same time: bots mostly wait.
pub(crate) fn run(languages: &[Language]) -> Result<()> {
    Invocation::new("cargo build --locked --package companion").run()?;
    let root = root()?;
    let languages = if languages.is_empty() { &[Language::Python, Language::Node] } else { languages };
    thread::scope(|scope| {
        let running: Vec<_> = languages
            .iter()
            .map(|language| scope.spawn(|| run_one_by_one(&language.tests(), root)))
            .collect();
        let mut results = running.into_iter().map(|thread| thread.join());
        results.try_for_each(|result| result.unwrap_or_else(|_| Err(anyhow!("a thread panicked"))))
    })
}

fn run_one_by_one(tests: &[String], root: &Path) -> Result<()> {
    for test in tests {
        let invocation = Invocation::new(test).with_environment([
            ("COMPANION_BIN", root.join("target/debug/companion").display().to_string()),
            ("COMPANION_KITS_MODULES", root.join(KIT_MODULES).display().to_string()),
        ]);
        // In one piece, because tests of another language print at the same time.
        println!("{test}\n{}", invocation.output()?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_the_kits_whose_libraries_are_available() {
        let step = |missing| step(&MissingTools(missing)).map(|step| step.repeat);
        assert_eq!(step(vec![]).as_deref(), Some("cargo xtask kits python node"));
        assert_eq!(step(vec![&DISCORD_PY]).as_deref(), Some("cargo xtask kits node"));
        assert_eq!(step(vec![&DISCORD_PY, &DISCORD_JS]), None);
    }
}
