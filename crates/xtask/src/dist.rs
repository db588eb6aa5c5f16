//! The published program, its profile-guided optimization, and its benchmark: an instrumented build, a training run, and
//! builds that use the profile data.
//!
//! Symbol names depend on Cargo profile, target and features, so all of these builds have the same.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::invocation::{Invocation, root};
use crate::requirement::{LLVM_TOOLS, MissingTools, POSTGRESQL, VALGRIND, WhenMissing};
use crate::steps::{self, Step};

/// Builds the program and the benchmark, and runs the latter.
const BENCH: &str = "cargo bench --locked --package companion --bench speed --profile dist";
const FOLDER: &str = "target/training";
const PROFILE: &str = "target/training/merged.profdata";
/// The baseline of instructions per request.
const BASELINE: &str = "crates/companion/benches/speed/instructions.json";

/// Builds the published program, without profile data if the tools for it are missing.
pub(crate) fn run(policy: WhenMissing, build_arguments: &[String]) -> Result<()> {
    let target = target()?;
    let names_target = |argument: &String| argument == "--target" || argument.starts_with("--target=");
    let is_named = build_arguments.iter().any(names_target);
    let named = if is_named { Vec::new() } else { vec!["--target".to_owned(), target.clone()] };
    steps::run([&LLVM_TOOLS], policy, |missing| {
        trained(missing, &[build_arguments, &named].concat(), |arguments| {
            let build = Invocation::new("cargo build --locked --package companion --profile dist");
            let build = build.with_arguments(arguments);
            Step::check("dist", &build.to_string(), move || {
                build.run()?;
                if is_named { Ok(()) } else { publish(&target) }
            })
        })
    })
}

/// Copies the program to where Cargo puts it for a build that names no target.
fn publish(target: &str) -> Result<()> {
    let folder = root()?.join("target");
    fs::create_dir_all(folder.join("dist"))?;
    fs::copy(folder.join(target).join("dist/companion"), folder.join("dist/companion"))?;
    Ok(())
}

/// Returns `llvm-profdata` of the toolchain, which merges raw profiles.
pub(crate) fn profdata() -> Result<PathBuf> {
    Ok(libraries()?.with_file_name("bin").join("llvm-profdata"))
}

/// Returns the folder of the toolchain's libraries. Its parent has the name of this machine's target.
fn libraries() -> Result<PathBuf> {
    Ok(Invocation::new("rustc --print target-libdir").output()?.trim().into())
}

/// Returns the name of this machine's target. A build that names it keeps its flags from build scripts.
fn target() -> Result<String> {
    let libraries = libraries()?;
    let target = libraries.parent().and_then(Path::file_name).context("rustc has no target")?;
    Ok(target.to_string_lossy().into_owned())
}

/// Returns an argument that adds a flag of the compiler. A list, so that Cargo joins it with others on the command line.
fn flag(flag: &str) -> [String; 2] {
    ["--config".to_owned(), format!("build.rustflags=[\"{flag}\"]")]
}

/// Collects the profile data of a build with these arguments: builds the program and the benchmark instrumented, and runs
/// them under a training load.
fn train(build_arguments: &[String]) -> Result<()> {
    let raw = root()?.join(FOLDER).join("raw");
    if raw.exists() {
        fs::remove_dir_all(&raw)?;
    }
    Invocation::new(BENCH)
        .with_arguments(build_arguments)
        .with_arguments(&flag(&format!("-Cprofile-generate={}", raw.display())))
        .with_arguments(&["--target-dir", FOLDER, "--", "train"].map(str::to_owned))
        .run()?;
    let merge = format!("{} merge --output {PROFILE} {}", profdata()?.display(), raw.display());
    Invocation::new(&merge).run()
}

/// Returns the arguments of a build that uses the profile data.
fn profile_use() -> Result<[String; 2]> {
    Ok(flag(&format!("-Cprofile-use={}", root()?.join(PROFILE).display())))
}

/// Returns the training, and a step that builds with its profile data. Without the tools the step builds without it.
fn trained(
    missing: &MissingTools,
    build_arguments: &[String],
    build: impl FnOnce(&[String]) -> Step,
) -> Result<Vec<Step>> {
    let instrumented = build_arguments.to_vec();
    let training =
        Step::check("training", "cargo xtask dist", move || train(&instrumented)).needing(&LLVM_TOOLS);
    let mut optimized = build_arguments.to_vec();
    if !missing.includes(&LLVM_TOOLS) {
        optimized.extend(profile_use()?);
    }
    Ok(vec![training, build(&optimized)])
}

/// Measures what is published, with symbols for profilers. The benchmark installs its peers itself, because no other
/// task needs them.
fn speed(build_arguments: &[String], arguments: &[String]) -> Invocation {
    Invocation::new(BENCH)
        .with_arguments(build_arguments)
        .with_arguments(&flag("-Cstrip=none"))
        .with_arguments(&["--", "measure"].map(str::to_owned))
        .with_arguments(arguments)
}

/// Prints the named tables of the benchmark, or all.
pub(crate) fn bench(policy: WhenMissing, mut arguments: Vec<String>, quick: bool, write: bool) -> Result<()> {
    arguments.extend(quick.then(|| "--quick".to_owned()));
    arguments.extend(write.then(|| "--page=docs".to_owned()));
    let build = ["--target".to_owned(), target()?];
    steps::run([&LLVM_TOOLS, &VALGRIND, &POSTGRESQL], policy, |missing| {
        trained(missing, &build, |build| Step::program("bench", speed(build, &arguments)))
    })
}

/// Fails if a request takes a tenth more instructions than the baseline. Unlike times, instruction counts do not depend
/// on the load of the machine.
pub(crate) fn instructions() -> Result<()> {
    let build = ["--target".to_owned(), target()?];
    train(&build)?;
    let arguments = ["instructions", "--quick", "--baseline", BASELINE].map(str::to_owned);
    speed(&[build, profile_use()?].concat(), &arguments).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_profile_data_only_after_a_training() {
        let missing = MissingTools::among([&LLVM_TOOLS], WhenMissing::Report).unwrap();
        let build = |arguments: &[String]| {
            Step::program("dist", Invocation::new("cargo build").with_arguments(arguments))
        };
        let [training, step] =
            trained(&missing, &["--features".into()], build).unwrap().try_into().ok().unwrap();
        assert!(training.needs.iter().any(|tool| tool.name == LLVM_TOOLS.name));
        assert!(step.repeat.starts_with("cargo build --features"), "{}", step.repeat);
        let is_guided = step.repeat.contains("-Cprofile-use=/") && step.repeat.contains(PROFILE);
        assert_eq!(is_guided, !missing.includes(&LLVM_TOOLS), "{}", step.repeat);
    }
}
