//! Measures the service, and guards its instruction count.

use anyhow::Result;

use crate::dist;
use crate::invocation::Invocation;
use crate::requirement::{LLVM_TOOLS, POSTGRESQL, VALGRIND, WhenMissing};
use crate::steps::{self, Step};

/// The baseline of instructions per request.
const BASELINE: &str = "crates/companion/benches/speed/instructions.json";

/// Measures what is published, with symbols, so that allocations are counted. The benchmark installs its peers itself,
/// because no other task needs them.
fn speed(build_arguments: &[String], arguments: &[String]) -> Invocation {
    Invocation::new(dist::BENCH)
        .with_arguments(build_arguments)
        .with_arguments(&dist::flag("-Cstrip=none"))
        .with_arguments(&["--", "measure"].map(str::to_owned))
        .with_arguments(arguments)
}

fn build_arguments() -> Result<[String; 2]> {
    Ok(["--target".to_owned(), dist::target()?])
}

/// Prints the named tables, or all.
pub(crate) fn run(policy: WhenMissing, tables: &[String], quick: bool, write: bool) -> Result<()> {
    let mut arguments = tables.to_vec();
    arguments.extend(quick.then(|| "--quick".to_owned()));
    arguments.extend(write.then(|| "--page=docs".to_owned()));
    steps::run([&LLVM_TOOLS, &VALGRIND, &POSTGRESQL], policy, |missing| {
        dist::trained(missing, &build_arguments()?, |build| Step::program("bench", speed(build, &arguments)))
    })
}

/// Fails if a request takes a tenth more instructions than the baseline. Unlike times, instruction counts do not depend
/// on the load of the machine.
pub(crate) fn instructions() -> Result<()> {
    let build = build_arguments()?;
    dist::train(&build)?;
    let arguments = ["instructions", "--quick", "--baseline", BASELINE].map(str::to_owned);
    speed(&[build, dist::arguments()?].concat(), &arguments).run()
}
