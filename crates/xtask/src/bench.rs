//! Measures the service, and keeps its instructions in check.

use anyhow::Result;

use crate::invocation::Invocation;
use crate::requirement::{POSTGRESQL, VALGRIND, WhenMissing};
use crate::steps::{self, Step};

/// The measuring program. It installs the peers itself, in its own folder, since nothing else needs them.
const SPEED: &str = "cargo bench --locked --package companion --bench speed -- measure";

/// The same, linked in less time. What it counts is a little more, and grows with whatever makes the real one grow.
const QUICKLY_LINKED: &str =
    "cargo bench --locked --config profile.bench.lto=\"off\" --package companion --bench speed -- measure";

/// Where the instructions per request are written down.
const BASELINE: &str = "crates/companion/benches/speed/instructions.json";

/// Prints tables: those that are named, or all.
pub(crate) fn run(policy: WhenMissing, tables: &[String], quick: bool, write: bool) -> Result<()> {
    let mut measuring = Invocation::new(SPEED).with_arguments(tables);
    if quick {
        measuring = measuring.with_arguments(&["--quick".to_owned()]);
    }
    if write {
        measuring = measuring.with_arguments(&["--page".to_owned(), "docs".to_owned()]);
    }
    let step = Step::program("bench", measuring);
    steps::run([&VALGRIND, &POSTGRESQL], policy, |_| Ok(vec![step]))
}

/// Fails where a request costs more than a tenth more instructions than it did. They are the same on a busy machine as on
/// a quiet one, which no time is.
pub(crate) fn instructions() -> Step {
    let arguments = ["instructions", "--quick", "--baseline", BASELINE].map(str::to_owned);
    Step::program("instructions", Invocation::new(QUICKLY_LINKED).with_arguments(&arguments))
        .needing(&VALGRIND)
}
