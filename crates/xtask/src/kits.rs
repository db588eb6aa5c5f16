//! The kits of `docs/kits`, installed as packages and run with the libraries that they are for against the program itself.

use anyhow::Result;

use crate::invocation::{Invocation, root};
use crate::requirement::{DISCORD_JS, DISCORD_PY, KIT_MODULES, KIT_PYTHON};
use crate::steps::Step;

/// The language of a kit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Language {
    Node,
    Python,
}

/// Returns the steps of the test command.
pub(crate) fn steps() -> [Step; 2] {
    [
        Step::check("kits for Python", "cargo xtask kits python", || run(&[Language::Python]))
            .needing(&DISCORD_PY),
        Step::check("kits for Node.js", "cargo xtask kits node", || run(&[Language::Node]))
            .needing(&DISCORD_JS),
    ]
}

/// Tests the kits in these languages, or in all if none is named.
pub(crate) fn run(languages: &[Language]) -> Result<()> {
    Invocation::new("cargo build --locked --package companion").run()?;
    let root = root()?;
    let program = root.join("target/debug/companion");
    let chosen = |language| languages.is_empty() || languages.contains(&language);
    let mut tests = Vec::new();
    if chosen(Language::Python) {
        for name in ["discord", "package", "settings"] {
            tests.push(format!("{KIT_PYTHON} docs/kits/tests/test_{name}_py.py"));
        }
    }
    if chosen(Language::Node) {
        for name in ["discord-js", "package-js", "settings-js", "plain", "client", "requests"] {
            tests.push(format!("node docs/kits/tests/test-{name}.mjs"));
        }
    }
    for test in tests {
        println!("{test}");
        Invocation::new(&test)
            .with_environment([
                ("COMPANION_BIN", program.display().to_string()),
                ("COMPANION_KITS_MODULES", root.join(KIT_MODULES).display().to_string()),
            ])
            .run()?;
    }
    Ok(())
}
