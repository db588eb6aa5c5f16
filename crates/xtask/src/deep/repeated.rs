//! Runs the whole suite repeatedly on a busy machine. A test that fails once in twenty runs is a defect.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Result, ensure};

use crate::invocation::Invocation;

const RUNS: usize = 20;
const BUSY_LOOPS: usize = 2;
const SUITE: &str = "cargo xtask test -- --no-fail-fast --status-level fail --final-status-level fail";

pub(super) fn run() -> Result<()> {
    let done = AtomicBool::new(false);
    let failed = thread::scope(|scope| {
        for _ in 0..BUSY_LOOPS {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let fails = |run| {
            println!("run {run} of {RUNS}");
            Invocation::new(SUITE).run().is_err()
        };
        let failed = (1..=RUNS).filter(|run| fails(*run)).count();
        done.store(true, Ordering::Relaxed);
        failed
    });
    println!("{failed} of {RUNS} runs failed beside {BUSY_LOOPS} busy loops");
    ensure!(failed == 0, "{failed} of {RUNS} runs failed");
    Ok(())
}
