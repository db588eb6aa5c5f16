//! The full forms of what the usual tests do briefly, checks of the tests themselves, and the count of instructions.

mod coverage;
mod mutants;
mod repeated;

use anyhow::Result;
use clap::ValueEnum;

use crate::bench;
use crate::invocation::Invocation;
use crate::requirement::{
    CARGO_MUTANTS, CARGO_TARPAULIN, NGINX, POSTGRESQL, Requirement, VALGRIND, WhenMissing,
};
use crate::steps::{self, Step};

/// The serving program is killed under load, over and over; the usual tests do it a few times.
const KILLING: &str = "cargo test --locked --package companion --test program -- --nocapture kill::";

/// Days of two thousand users with a platform that fails; the usual tests have twenty users.
const SIMULATION: &str =
    "cargo test --locked --package companion-tests --test end_to_end -- --nocapture simulation";

/// Ten thousand who come at once after a restart, and a feed of a hundred thousand guilds; the usual tests have hundreds.
/// They are served within a request's deadline, which only the program as it is shipped can do.
const CROWDS: &str =
    "cargo test --release --locked --package companion --test program -- --nocapture --test-threads=1 crowds";

/// The program is restarted under load, alone and as one of two behind a proxy, over and over; the usual tests do it once.
const RESTARTS: &str = "cargo test --release --locked --package companion --test program -- --nocapture --test-threads=1 \
    restart_under_load rolling_restart";

/// A log that is torn in every way at every frame, and a disk that fails at one call after the other; the usual tests have
/// one way for each frame and three failures.
const DISK: &str = "cargo test --locked --package companion-storage-diesel --package companion --test storage --test program -- \
    --nocapture torn:: disk::";

/// Thousands of hostile clients against the program with its own limits; the usual tests have a few, and limits of a second.
const STRANGERS: &str = "cargo test --release --locked --package companion --test program -- --nocapture --test-threads=1 --include-ignored strangers";

/// Damaged input for everything that reads any; the usual tests take a few thousand of each kind.
const HOSTILE: &str = "cargo test --release --locked --package companion-http --package companion-identity-oauth2 \
    --package companion-tests --package companion --lib --test end_to_end --test program -- --nocapture hostile";

/// Millions of requests of ten thousand users whose sessions, guilds and rights come and go; the usual tests have forty users.
const ISOLATION: &str = "cargo test --release --locked --package companion --test program -- --nocapture --test-threads=1 isolation";

/// Fifty million requests to one process; the usual tests make ten thousand.
const LONG: &str =
    "cargo test --release --locked --package companion --test program -- --nocapture long_after";

/// Two, five and ten times what storage can serve; the usual tests have the rule of the queue alone.
const OVERLOAD: &str = "cargo test --release --locked --package companion --test program -- --nocapture --include-ignored overload";

/// Ten nodes of which one loses its database; the usual tests have three.
const NODES: &str = "cargo test --release --locked --package companion --test program -- --nocapture --test-threads=1 partition";

/// Every order of concurrent reads and writes of the cache; the usual tests have those with two preemptions.
const ORDERS: &str =
    "cargo test --locked --package companion-cache --test cache -- --nocapture interleavings";

/// Every combination of facts that permissions depend on; the usual tests have those that differ in three facts, and a sample.
const POLICY: &str = "cargo test --locked --package companion-domain --lib -- policy";

/// Every fault of the platform at every route, each with a program of its own, and ten thousand requests whose secrets must not
/// be seen anywhere; the usual tests share programs, and have five hundred.
const FAULTS: &str =
    "cargo test --locked --package companion-tests --test end_to_end -- --nocapture faults canaries";

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum Check {
    Coverage,
    Mutants,
    Instructions,
    Repeated,
    Kills,
    Simulation,
    Crowds,
    Restarts,
    Strangers,
    Hostile,
    Isolation,
    Long,
    Overload,
    Disk,
    Nodes,
    Orders,
    Policy,
    Faults,
}

impl Check {
    fn name(self) -> &'static str {
        match self {
            Self::Coverage => "coverage",
            Self::Mutants => "mutants",
            Self::Instructions => "instructions",
            Self::Repeated => "repeated",
            Self::Kills => "kills",
            Self::Simulation => "simulation",
            Self::Crowds => "crowds",
            Self::Restarts => "restarts",
            Self::Strangers => "strangers",
            Self::Hostile => "hostile",
            Self::Isolation => "isolation",
            Self::Long => "long",
            Self::Overload => "overload",
            Self::Disk => "disk",
            Self::Nodes => "nodes",
            Self::Orders => "orders",
            Self::Policy => "policy",
            Self::Faults => "faults",
        }
    }

    fn tool(self) -> Option<&'static Requirement> {
        match self {
            Self::Coverage => Some(&CARGO_TARPAULIN),
            Self::Mutants => Some(&CARGO_MUTANTS),
            Self::Instructions => Some(&VALGRIND),
            Self::Isolation | Self::Nodes => Some(&POSTGRESQL),
            _ => None,
        }
    }

    /// What a part of it needs, which says so itself where it is missing.
    fn tools_of_parts(self) -> &'static [&'static Requirement] {
        match self {
            Self::Hostile => &[&NGINX],
            Self::Restarts => &[&NGINX, &POSTGRESQL],
            _ => &[],
        }
    }

    fn step(self) -> Step {
        let full = |line, variable, value| {
            Step::program(self.name(), Invocation::new(line).with_environment(variable, value))
        };
        let step = match self {
            Self::Coverage => Step::check(self.name(), "cargo xtask deep coverage", coverage::run),
            Self::Mutants => Step::check(self.name(), "cargo xtask deep mutants", mutants::run),
            Self::Instructions => Step::program(self.name(), bench::instructions()),
            Self::Repeated => Step::check(self.name(), "cargo xtask deep repeated", repeated::run),
            Self::Kills => full(KILLING, "KILLS", "1000"),
            Self::Simulation => full(SIMULATION, "SIMULATION", "full"),
            Self::Crowds => full(CROWDS, "CROWDS", "full"),
            Self::Restarts => full(RESTARTS, "RESTARTS", "200"),
            Self::Strangers => full(STRANGERS, "STRANGERS", "100"),
            Self::Hostile => full(HOSTILE, "HOSTILE", "100"),
            Self::Isolation => full(ISOLATION, "ISOLATION", "100"),
            Self::Long => full(LONG, "LONG", "50000000"),
            Self::Overload => full(OVERLOAD, "OVERLOAD", "full"),
            Self::Disk => full(DISK, "DISK", "full"),
            Self::Nodes => full(NODES, "NODES", "10"),
            Self::Orders => full(ORDERS, "ORDERS", "full"),
            Self::Policy => full(POLICY, "POLICY", "full"),
            Self::Faults => Step::program(
                self.name(),
                Invocation::new(FAULTS)
                    .with_environment("FAULTS", "full")
                    .with_environment("CANARIES", "10000"),
            ),
        };
        match self.tool() {
            Some(tool) => step.needing(tool),
            None => step,
        }
    }
}

pub(crate) fn run(policy: WhenMissing, checks: &[Check]) -> Result<()> {
    let checks = if checks.is_empty() { Check::value_variants() } else { checks };
    let tools = checks
        .iter()
        .flat_map(|check| check.tool().into_iter().chain(check.tools_of_parts().iter().copied()));
    steps::run(tools, policy, |_| Ok(checks.iter().map(|check| check.step()).collect()))
}
