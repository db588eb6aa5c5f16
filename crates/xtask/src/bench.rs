//! Measures the service, and keeps its instructions in check.

use anyhow::Result;

use crate::invocation::Invocation;
use crate::requirement::{POSTGRESQL, VALGRIND, WhenMissing};
use crate::steps::{self, Step};

/// Measures the program as it is published. It installs the peers itself, in its own folder, since nothing else needs them.
const SPEED: &str = "cargo bench --locked --profile dist --package companion --bench speed -- measure";

/// Counts the instructions of the release build, which links in less time.
const COUNT: &str = "cargo bench --locked --package companion --bench speed -- measure";

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

/// Fails where a request takes a tenth more instructions than the baseline. Unlike times, instructions do not depend on what
/// else the machine does.
pub(crate) fn instructions() -> Invocation {
    let arguments = ["instructions", "--quick", "--baseline", BASELINE].map(str::to_owned);
    Invocation::new(COUNT).with_arguments(&arguments)
}
