//! The full forms of what the usual tests do briefly, checks of the tests themselves, and the count of instructions.

mod coverage;
mod mutants;
mod repeated;

use anyhow::Result;

use crate::bench;
use crate::invocation::Invocation;
use crate::requirement::{
    CARGO_MUTANTS, CARGO_TARPAULIN, NGINX, POSTGRESQL, Requirement, VALGRIND, WhenMissing,
};
use crate::steps::{self, Step};

struct Check {
    name: &'static str,
    action: Action,
    /// Without it the check is skipped.
    tool: Option<&'static Requirement>,
    /// What parts of it need. A part says itself that its tool is missing.
    tools_of_parts: &'static [&'static Requirement],
}

enum Action {
    Own(fn() -> Result<()>),
    Instructions,
    /// Tests with variables that make them full.
    Tests {
        variables: &'static str,
        line: &'static str,
    },
}

const fn own(name: &'static str, check: fn() -> Result<()>) -> Check {
    Check { name, action: Action::Own(check), tool: None, tools_of_parts: &[] }
}

const fn full(name: &'static str, variables: &'static str, line: &'static str) -> Check {
    Check { name, action: Action::Tests { variables, line }, tool: None, tools_of_parts: &[] }
}

const CHECKS: [Check; 18] = [
    Check { tool: Some(&CARGO_TARPAULIN), ..own("coverage", coverage::run) },
    Check { tool: Some(&CARGO_MUTANTS), ..own("mutants", mutants::run) },
    Check { name: "instructions", action: Action::Instructions, tool: Some(&VALGRIND), tools_of_parts: &[] },
    own("repeated", repeated::run),
    // The serving program is killed under load, over and over; the usual tests do it a few times.
    full("kills", "KILLS=1000", "--package companion --test program -- --nocapture kill::"),
    // Days of two thousand users with a platform that fails; the usual tests have twenty users.
    full(
        "simulation",
        "SIMULATION=full",
        "--package companion-tests --test end_to_end -- --nocapture simulation",
    ),
    // Ten thousand who come at once after a restart, and a feed of a hundred thousand guilds; the usual tests have hundreds.
    // They are served within a request's deadline, which only the program as it is shipped can do.
    full(
        "crowds",
        "CROWDS=full",
        "--release --package companion --test program -- --nocapture --test-threads=1 crowds",
    ),
    // The program is restarted under load, alone and as one of two behind a proxy, over and over; the usual tests do it once.
    Check {
        tools_of_parts: &[&NGINX, &POSTGRESQL],
        ..full(
            "restarts",
            "RESTARTS=200",
            "--release --package companion --test program -- --nocapture --test-threads=1 \
             restart_under_load rolling_restart",
        )
    },
    // Thousands of hostile clients against the program with its own limits; the usual tests have a few, and limits of a second.
    full(
        "strangers",
        "STRANGERS=100",
        "--release --package companion --test program -- --nocapture --test-threads=1 --include-ignored strangers",
    ),
    // Damaged input for everything that reads any; the usual tests take a few thousand of each kind.
    Check {
        tools_of_parts: &[&NGINX],
        ..full(
            "hostile",
            "HOSTILE=100",
            "--release --package companion-http --package companion-identity-oauth2 --package companion-tests \
             --package companion --lib --test end_to_end --test program -- --nocapture hostile",
        )
    },
    // Millions of requests of ten thousand users whose sessions, guilds and rights come and go; the usual tests have forty users.
    Check {
        tool: Some(&POSTGRESQL),
        ..full(
            "isolation",
            "ISOLATION=100",
            "--release --package companion --test program -- --nocapture --test-threads=1 isolation",
        )
    },
    // Fifty million requests to one process; the usual tests make ten thousand.
    full("long", "LONG=50000000", "--release --package companion --test program -- --nocapture long_after"),
    // Two, five and ten times what storage can serve; the usual tests have the rule of the queue alone.
    full(
        "overload",
        "OVERLOAD=full",
        "--release --package companion --test program -- --nocapture --include-ignored overload",
    ),
    // A log that is torn in every way at every frame, and a disk that fails at one call after the other; the usual tests have
    // one way for each frame and three failures.
    full(
        "disk",
        "DISK=full",
        "--package companion-storage-diesel --package companion --test storage --test program -- --nocapture torn:: disk::",
    ),
    // Ten nodes of which one loses its database; the usual tests have three.
    Check {
        tool: Some(&POSTGRESQL),
        ..full(
            "nodes",
            "NODES=10",
            "--release --package companion --test program -- --nocapture --test-threads=1 partition",
        )
    },
    // Every order of concurrent reads and writes of the cache; the usual tests have those with two preemptions.
    full("orders", "ORDERS=full", "--package companion-cache --test cache -- --nocapture interleavings"),
    // Every combination of facts that permissions depend on; the usual tests have those that differ in three facts, and a sample.
    full("policy", "POLICY=full", "--package companion-domain --lib -- policy"),
    // Every fault of the platform at every route, each with a program of its own, and ten thousand requests whose secrets must not
    // be seen anywhere; the usual tests share programs, and have five hundred.
    full(
        "faults",
        "FAULTS=full CANARIES=10000",
        "--package companion-tests --test end_to_end -- --nocapture faults canaries",
    ),
];

/// The names of all checks, for the command line.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|check| check.name)
}

impl Check {
    fn step(&self) -> Step {
        let mut step = match self.action {
            Action::Own(check) => Step::check(self.name, &format!("cargo xtask deep {}", self.name), check),
            Action::Instructions => Step::program(self.name, bench::instructions()),
            Action::Tests { variables, line } => {
                let invocation = Invocation::new(&format!("cargo test --locked {line}"));
                let variables = variables.split(' ').filter_map(|variable| variable.split_once('='));
                let set = |invocation: Invocation, (name, value)| invocation.with_environment(name, value);
                Step::program(self.name, variables.fold(invocation, set))
            }
        };
        step.needs = self.tool;
        step
    }
}

/// Runs the checks that are named, or all of them.
pub(crate) fn run(policy: WhenMissing, named: &[String]) -> Result<()> {
    let is_chosen = |check: &&Check| named.is_empty() || named.iter().any(|name| name == check.name);
    let checks: Vec<_> = CHECKS.iter().filter(is_chosen).collect();
    let tools = checks.iter().flat_map(|check| check.tool.iter().chain(check.tools_of_parts).copied());
    steps::run(tools, policy, |_| Ok(checks.iter().map(|check| check.step()).collect()))
}
