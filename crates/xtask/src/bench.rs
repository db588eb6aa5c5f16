//! Measures the service, and guards its instruction count.

use anyhow::Result;

use crate::invocation::Invocation;
use crate::requirement::{LLVM_TOOLS, POSTGRESQL, VALGRIND, WhenMissing};
use crate::{steps, training};

/// The baseline of instructions per request.
const BASELINE: &str = "crates/companion/benches/speed/instructions.json";

/// Measures what is published. The benchmark installs its peers itself, because no other task needs them.
fn speed(profile: &[String], arguments: &[String]) -> Invocation {
    Invocation::new("cargo bench --locked --package companion --bench speed")
        .with_arguments(profile)
        .with_arguments(&["--", "measure"].map(str::to_owned))
        .with_arguments(arguments)
}

/// Prints the named tables, or all.
pub(crate) fn run(policy: WhenMissing, tables: &[String], quick: bool, write: bool) -> Result<()> {
    let mut arguments = tables.to_vec();
    arguments.extend(quick.then(|| "--quick".to_owned()));
    arguments.extend(write.then(|| "--page=docs".to_owned()));
    steps::run([&LLVM_TOOLS, &VALGRIND, &POSTGRESQL], policy, |missing| {
        training::steps(missing, "bench", |profile| speed(profile, &arguments))
    })
}

/// Fails if a request takes a tenth more instructions than the baseline. Unlike times, instruction counts do not depend
/// on the load of the machine.
pub(crate) fn instructions() -> Result<()> {
    training::run()?;
    let arguments = ["instructions", "--quick", "--baseline", BASELINE].map(str::to_owned);
    speed(&training::arguments()?, &arguments).run()
}
