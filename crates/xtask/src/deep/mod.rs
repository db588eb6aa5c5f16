//! Slow checks: the full forms of tests that usually run briefly, checks of the tests themselves, and the instruction
//! count.

mod mutants;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Result, ensure};

use crate::dist;
use crate::invocation::{Invocation, root};
use crate::requirement::{
    CARGO_MUTANTS, CARGO_TARPAULIN, LLVM_TOOLS, NGINX, POSTGRESQL, Requirement, VALGRIND, WhenMissing,
};
use crate::steps::{self, Step};

struct Check {
    name: &'static str,
    action: Action,
    /// The check is skipped without any of them.
    tools: &'static [&'static Requirement],
    /// Tools that parts of it need. A part reports itself if its tool is missing.
    tools_of_parts: &'static [&'static Requirement],
}

enum Action {
    Own(fn() -> Result<()>),
    /// Runs tests in their full form.
    Tests {
        /// The variable that selects it, with its value.
        variable: &'static str,
        /// Options of `cargo test` that select the profile, the packages and their targets.
        targets: &'static str,
        /// Filters and options of the test program.
        tests: &'static str,
    },
}

const fn own(name: &'static str, check: fn() -> Result<()>) -> Check {
    Check { name, action: Action::Own(check), tools: &[], tools_of_parts: &[] }
}

const fn full(
    name: &'static str,
    variable: &'static str,
    targets: &'static str,
    tests: &'static str,
) -> Check {
    Check { name, action: Action::Tests { variable, targets, tests }, tools: &[], tools_of_parts: &[] }
}

/// The tests of the program, in a release build.
const PROGRAM: &str = "--release --package companion --test program";

const CHECKS: [Check; 20] = [
    Check { tools: &[&CARGO_TARPAULIN], ..own("coverage", coverage) },
    Check { tools: &[&CARGO_MUTANTS], ..own("mutants", mutants::run) },
    Check {
        // The recorded counts are of a program built with profile-guided optimization.
        tools: &[&VALGRIND, &LLVM_TOOLS],
        ..own("instructions", dist::instructions)
    },
    own("repeated", repeated),
    // Kills the serving program under load repeatedly. Default: a few times.
    full("kills", "KILLS=1000", "--package companion --test program", "kill::"),
    // A thousand random schemas with a thousand values each. Default: a few dozen.
    full("settings", "SETTINGS=full", "--release --package companion-domain --lib", "random_schemas"),
    // Thirty days of a bot with crashes, deployments and restarts, four times. Default: two days.
    full("status", "STATUS=full", "--release --package companion-testkit --test suite", "the_status_is_true"),
    // Simulates days of two thousand users with a failing platform. Default: twenty users.
    full("simulation", "SIMULATION=full", "--package companion-tests --test end_to_end", "simulation"),
    // Ten thousand simultaneous clients after a restart, and a feed of a hundred thousand guilds. Default: hundreds.
    // The request deadline needs a release build.
    full("crowds", "CROWDS=full", PROGRAM, "--test-threads=1 crowds"),
    // Restarts the program under load repeatedly, alone and as one of two behind a proxy. Default: once.
    Check {
        tools_of_parts: &[&NGINX, &POSTGRESQL],
        ..full("restarts", "RESTARTS=200", PROGRAM, "--test-threads=1 restart_under_load rolling_restart")
    },
    // Thousands of hostile clients against the default limits. Default: a few, and only those that wait or do not read.
    full("strangers", "STRANGERS=100", PROGRAM, "--test-threads=1 --include-ignored strangers"),
    // Damaged input for every parser. Default: a few thousand inputs of each kind.
    Check {
        tools_of_parts: &[&NGINX],
        ..full(
            "hostile",
            "HOSTILE=100",
            "--release --package companion-http --package companion-identity-oauth2 --package companion-tests \
             --package companion --lib --test end_to_end --test program",
            "hostile",
        )
    },
    // Millions of requests of ten thousand users whose sessions, guilds and permissions change. Default: forty users.
    Check {
        tools: &[&POSTGRESQL],
        ..full("isolation", "ISOLATION=100", PROGRAM, "--test-threads=1 isolation")
    },
    // Fifty million requests to one process. Default: ten thousand.
    full("long", "LONG=50000000", PROGRAM, "long_after"),
    // Two, five and ten times the capacity of storage. Default: only the queue rule.
    full("overload", "", PROGRAM, "--include-ignored overload"),
    // A log torn in every way at every frame, and a disk that fails at each call. Default: one way per frame, and three
    // failures.
    full(
        "disk",
        "DISK=full",
        "--package companion-storage-diesel --package companion --test storage --test program",
        "torn:: disk::",
    ),
    // Ten nodes, one of which loses its database. Default: three.
    Check { tools: &[&POSTGRESQL], ..full("nodes", "NODES=10", PROGRAM, "--test-threads=1 partition") },
    // Every interleaving of concurrent reads and writes of the cache. Default: those with two preemptions.
    full("orders", "ORDERS=full", "--package companion-cache --test cache", "interleavings in_every_order"),
    // Every combination of the facts that permissions depend on. Default: those that differ in three facts, and a
    // sample.
    full("policy", "POLICY=full", "--package companion-domain --lib", "policy"),
    // Ten thousand secrets that must not leak. Default: five hundred.
    full("canaries", "CANARIES=10000", "--package companion-tests --test end_to_end", "canaries"),
];

/// Returns the names of all checks, for the command line.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|check| check.name)
}

impl Check {
    fn step(&self) -> Step {
        let mut step = match self.action {
            Action::Own(check) => Step::check(self.name, &format!("cargo xtask deep {}", self.name), check),
            Action::Tests { variable, targets, tests } => {
                let invocation =
                    Invocation::new(&format!("cargo test --locked {targets} -- --nocapture {tests}"));
                Step::program(self.name, invocation.with_environment(variable.split_once('=')))
            }
        };
        step.needs = self.tools.to_vec();
        step
    }
}

/// Runs the named checks, or all of them.
pub(crate) fn run(policy: WhenMissing, named: &[String]) -> Result<()> {
    let is_chosen = |check: &&Check| named.is_empty() || named.iter().any(|name| name == check.name);
    let checks: Vec<_> = CHECKS.iter().filter(is_chosen).collect();
    let tools = checks.iter().flat_map(|check| check.tools.iter().chain(check.tools_of_parts).copied());
    steps::run(tools, policy, |_| Ok(checks.iter().map(|check| check.step()).collect()))
}

/// Folders, and the least share of their lines that tests must cover, in percent.
const LEAST: [(&str, u32); 2] = [("crates/domain/src", 95), ("crates/domain/src/policy", 100)];

/// Uses its own target folder, because its compiler flags would rebuild everything in the default one.
///
/// The use cases are tested over the memory adapter in the test kit, so those tests count too.
const TARPAULIN: &str = "cargo tarpaulin --locked --packages companion-domain --packages companion-testkit \
    --engine ptrace --skip-clean --target-dir target/tarpaulin";

/// Measures the line coverage of the domain.
fn coverage() -> Result<()> {
    for (folder, percent) in LEAST {
        ensure!(root()?.join(folder).is_dir(), "there is no {folder}: did it move?");
        Invocation::new(&format!("{TARPAULIN} --include-files {folder}/* --fail-under {percent}")).run()?;
    }
    Ok(())
}

const RUNS: usize = 20;
const BUSY_LOOPS: usize = 2;
const SUITE: &str = "cargo xtask test -- --no-fail-fast --status-level fail --final-status-level fail";

/// Runs the whole suite repeatedly on a busy machine. A test that fails once in twenty runs is a defect.
fn repeated() -> Result<()> {
    let done = AtomicBool::new(false);
    let failed = thread::scope(|scope| {
        for _ in 0..BUSY_LOOPS {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let fails = |run: &usize| {
            println!("run {run} of {RUNS}");
            Invocation::new(SUITE).run().is_err()
        };
        let failed = (1..=RUNS).filter(fails).count();
        done.store(true, Ordering::Relaxed);
        failed
    });
    ensure!(failed == 0, "{failed} of {RUNS} runs failed beside {BUSY_LOOPS} busy loops");
    Ok(())
}
