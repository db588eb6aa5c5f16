//! Measures the line coverage of the domain.

use anyhow::{Result, ensure};

use crate::invocation::{Invocation, root};

/// Folders, and the least share of their lines that tests must cover, in percent.
const LEAST: [(&str, u32); 2] = [("crates/domain/src", 95), ("crates/domain/src/policy", 100)];

/// Uses its own target folder, because its compiler flags would rebuild everything in the default one.
///
/// The use cases are tested over the memory adapter in the test kit, so those tests count too.
const TARPAULIN: &str = "cargo tarpaulin --locked --packages companion-domain --packages companion-testkit \
    --engine ptrace --skip-clean --target-dir target/tarpaulin";

pub(super) fn run() -> Result<()> {
    for (folder, percent) in LEAST {
        ensure!(root()?.join(folder).is_dir(), "there is no {folder}: did it move?");
        Invocation::new(&format!("{TARPAULIN} --include-files {folder}/* --fail-under {percent}")).run()?;
    }
    Ok(())
}
