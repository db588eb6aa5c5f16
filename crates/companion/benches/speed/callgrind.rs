//! Programs under valgrind's callgrind, and its results.

use crate::server::Server;
use anyhow::Context as _;
use std::{collections::HashMap, path::Path, process::Command};

/// Allocating functions of the C library and of mimalloc.
const ALLOCATING: [&str; 8] = [
    "malloc",
    "calloc",
    "realloc",
    "posix_memalign",
    "aligned_alloc",
    "mi_malloc_aligned",
    "mi_zalloc_aligned",
    "mi_realloc_aligned",
];

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

/// Counts of a run.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) instructions: f64,
    pub(crate) allocations: f64,
}

impl Counts {
    /// Reads the totals, and the number of allocations. A function is named on first mention and numbered from then on.
    pub(crate) fn read(text: &str) -> anyhow::Result<Self> {
        let (mut instructions, mut allocations) = (None, 0.0);
        let (mut names, mut called) = (HashMap::new(), "");
        for line in text.lines() {
            if let Some(total) = line.strip_prefix("totals: ") {
                instructions = total.parse().ok();
            } else if let Some(function) = line.strip_prefix("cfn=").or_else(|| line.strip_prefix("fn=")) {
                let (number, name) = function.split_once(' ').unwrap_or((function, ""));
                if !name.is_empty() {
                    names.insert(number, name);
                }
                called = names.get(number).copied().unwrap_or_default();
            } else if let Some(calls) = line.strip_prefix("calls=")
                && ALLOCATING.contains(&called)
            {
                allocations += calls.split(' ').next().unwrap_or_default().parse::<f64>()?;
            }
        }
        Ok(Self { instructions: instructions.context("valgrind counted nothing")?, allocations })
    }
}
