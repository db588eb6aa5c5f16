//! Measures the service, and guards its instruction count.

use anyhow::Result;

use crate::invocation::Invocation;
use crate::requirement::{POSTGRESQL, VALGRIND, WhenMissing};
use crate::steps::{self, Step};

/// Measures what is published. The benchmark installs its peers itself, because no other task needs them.
const SPEED: &str = "cargo bench --locked --package companion --bench speed -- measure";

/// The baseline of instructions per request.
const BASELINE: &str = "crates/companion/benches/speed/instructions.json";

/// Prints the named tables, or all.
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

/// Fails if a request takes a tenth more instructions than the baseline. Unlike times, instruction counts do not depend
/// on the load of the machine.
pub(crate) fn instructions() -> Invocation {
    let arguments = ["instructions", "--quick", "--baseline", BASELINE].map(str::to_owned);
    Invocation::new(SPEED).with_arguments(&arguments)
}
