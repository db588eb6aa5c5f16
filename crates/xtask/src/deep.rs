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

/// Days of two thousand users with a platform that fails; the usual tests have forty users.
const SIMULATION: &str =
    "cargo test --locked --package companion-tests --test end_to_end -- --nocapture simulation";

/// Ten thousand who come at once after a restart, and a feed of a hundred thousand guilds; the usual tests have hundreds.
/// They are served within a request's deadline, which only the program as it is shipped can do.
const CROWDS: &str =
    "cargo test --release --locked --package companion --test program -- --nocapture --test-threads=1 crowds";

/// The program is restarted under load, alone and as one of two behind a proxy, over and over; the usual tests do it twice.
const RESTARTS: &str = "cargo test --release --locked --package companion --test program -- --nocapture --test-threads=1 \
    restart_under_load rolling_restart";

/// A log that is torn in every way at every frame, and a disk that fails at one call after the other; the usual tests have
/// one way for each frame and one call for each kind of failure.
const DISK: &str = "cargo test --locked --package companion-storage-diesel --package companion --test storage --test program -- \
    --nocapture torn:: disk::";

/// Thousands of strangers who make the program wait; the usual tests have a hundredth of them.
const STRANGERS: &str = "cargo test --release --locked --package companion --test program -- --nocapture --test-threads=1 strangers";

/// Damaged input for everything that reads any; the usual tests take a few thousand of each kind.
const HOSTILE: &str = "cargo test --release --locked --package companion-http --package companion-identity-oauth2 \
    --package companion-tests --package companion --lib --test end_to_end --test program -- --nocapture hostile";

/// Millions of requests of ten thousand users whose sessions, guilds and rights come and go; the usual tests have forty users.
const ISOLATION: &str = "cargo test --release --locked --package companion --test program -- --nocapture --test-threads=1 isolation";

/// Fifty million requests to one process; the usual tests make twenty thousand.
const LONG: &str =
    "cargo test --release --locked --package companion --test program -- --nocapture long_after";

/// Two, five and ten times what storage can serve; the usual tests have five times as much.
const OVERLOAD: &str =
    "cargo test --release --locked --package companion --test program -- --nocapture overload";

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
}

impl Check {
    const ALL: [Self; 14] = [
        Self::Coverage,
        Self::Mutants,
        Self::Instructions,
        Self::Repeated,
        Self::Kills,
        Self::Simulation,
        Self::Crowds,
        Self::Restarts,
        Self::Strangers,
        Self::Hostile,
        Self::Isolation,
        Self::Long,
        Self::Overload,
        Self::Disk,
    ];

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
        }
    }

    fn tool(self) -> Option<&'static Requirement> {
        match self {
            Self::Coverage => Some(&CARGO_TARPAULIN),
            Self::Mutants => Some(&CARGO_MUTANTS),
            Self::Instructions => Some(&VALGRIND),
            Self::Isolation => Some(&POSTGRESQL),
            Self::Repeated
            | Self::Kills
            | Self::Simulation
            | Self::Crowds
            | Self::Restarts
            | Self::Strangers
            | Self::Hostile
            | Self::Long
            | Self::Overload
            | Self::Disk => None,
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
        let step = match self {
            Self::Coverage => Step::check(self.name(), "cargo xtask deep coverage", coverage::run),
            Self::Mutants => Step::check(self.name(), "cargo xtask deep mutants", mutants::run),
            Self::Instructions => Step::program(self.name(), bench::instructions()),
            Self::Repeated => Step::check(self.name(), "cargo xtask deep repeated", repeated::run),
            Self::Kills => {
                Step::program(self.name(), Invocation::new(KILLING).with_environment("KILLS", "1000"))
            }
            Self::Simulation => {
                Step::program(self.name(), Invocation::new(SIMULATION).with_environment("SIMULATION", "full"))
            }
            Self::Crowds => {
                Step::program(self.name(), Invocation::new(CROWDS).with_environment("CROWDS", "full"))
            }
            Self::Restarts => {
                Step::program(self.name(), Invocation::new(RESTARTS).with_environment("RESTARTS", "200"))
            }
            Self::Strangers => {
                Step::program(self.name(), Invocation::new(STRANGERS).with_environment("STRANGERS", "100"))
            }
            Self::Hostile => {
                Step::program(self.name(), Invocation::new(HOSTILE).with_environment("HOSTILE", "100"))
            }
            Self::Isolation => {
                Step::program(self.name(), Invocation::new(ISOLATION).with_environment("ISOLATION", "100"))
            }
            Self::Long => {
                Step::program(self.name(), Invocation::new(LONG).with_environment("LONG", "50000000"))
            }
            Self::Overload => {
                Step::program(self.name(), Invocation::new(OVERLOAD).with_environment("OVERLOAD", "full"))
            }
            Self::Disk => Step::program(self.name(), Invocation::new(DISK).with_environment("DISK", "full")),
        };
        match self.tool() {
            Some(tool) => step.needing(tool),
            None => step,
        }
    }
}

pub(crate) fn run(policy: WhenMissing, checks: &[Check]) -> Result<()> {
    let checks = if checks.is_empty() { &Check::ALL } else { checks };
    let tools = checks
        .iter()
        .flat_map(|check| check.tool().into_iter().chain(check.tools_of_parts().iter().copied()));
    steps::run(tools, policy, |_| Ok(checks.iter().map(|check| check.step()).collect()))
}
