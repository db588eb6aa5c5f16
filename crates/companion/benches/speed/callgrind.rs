//! Programs under valgrind's callgrind, and its results.

use crate::server::Server;
use anyhow::Context as _;
use std::{path::Path, process::Command};

/// Returns a valgrind command that counts from the start, or once [`count`] enables it.
pub(crate) fn watching(result: &Path, from_start: bool) -> Command {
    let mut watcher = Command::new("valgrind");
    watcher.args(["--tool=callgrind", if from_start { "--instr-atstart=yes" } else { "--instr-atstart=no" }]);
    watcher.arg(format!("--callgrind-out-file={}", result.display()));
    watcher
}

/// Enables or disables counting.
pub(crate) fn count(server: &Server, on: bool) -> anyhow::Result<()> {
    let mut control = Command::new("callgrind_control");
    control.args(["-i", if on { "on" } else { "off" }]).arg(server.id().to_string());
    let output = control.output().context("callgrind_control cannot be started")?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Returns the number of instructions of a run from callgrind's result.
pub(crate) fn instructions(result: &Path) -> anyhow::Result<f64> {
    let text = std::fs::read_to_string(result)?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")?.parse().ok());
    total.context("valgrind counted nothing")
}
