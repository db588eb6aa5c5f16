//! Profile-guided optimization: a build that counts, its training, and builds that use the counts.
//!
//! Names of functions depend on profile, target and features, so all of these builds have the same.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::invocation::{Invocation, root};
use crate::requirement::{LLVM_TOOLS, MissingTools};
use crate::steps::Step;

/// Builds the program and the benchmark, and runs the latter.
pub(crate) const BENCH: &str = "cargo bench --locked --package companion --bench speed --profile dist";
const FOLDER: &str = "target/training";
const PROFILE: &str = "target/training/merged.profdata";

/// Returns the program that merges counts: a component of the toolchain.
pub(crate) fn merger() -> Result<PathBuf> {
    Ok(libraries()?.with_file_name("bin").join("llvm-profdata"))
}

/// Returns the folder of the toolchain's libraries. Its parent has the name of this machine's target.
fn libraries() -> Result<PathBuf> {
    Ok(Invocation::new("rustc --print target-libdir").output()?.trim().into())
}

/// Returns the name of this machine's target. A build that names it keeps its flags from build scripts.
pub(crate) fn target() -> Result<String> {
    let libraries = libraries()?;
    let target = libraries.parent().and_then(Path::file_name).context("rustc has no target")?;
    Ok(target.to_string_lossy().into_owned())
}

/// Returns an argument that adds flags of the compiler. A list, so that it is joined with others on the command line.
pub(crate) fn flag(flag: &str) -> [String; 2] {
    ["--config".to_owned(), format!("build.rustflags=[\"{flag}\"]")]
}

/// Makes the profile of a build with these arguments: builds the program and the benchmark so that they count, and
/// trains them.
pub(crate) fn run(build_arguments: &[String]) -> Result<()> {
    let counts = root()?.join(FOLDER).join("counts");
    if counts.exists() {
        std::fs::remove_dir_all(&counts)?;
    }
    Invocation::new(BENCH)
        .with_arguments(build_arguments)
        .with_arguments(&flag(&format!("-Cprofile-generate={}", counts.display())))
        .with_arguments(&["--target-dir", FOLDER, "--", "train"].map(str::to_owned))
        .run()?;
    let merging = format!("{} merge --output {PROFILE} {}", merger()?.display(), counts.display());
    Invocation::new(&merging).run()
}

/// Returns the arguments of a build that uses the profile.
pub(crate) fn arguments() -> Result<[String; 2]> {
    Ok(flag(&format!("-Cprofile-use={}", root()?.join(PROFILE).display())))
}

/// Returns the training, and a step that builds by the profile. Without the tools it builds without one.
pub(crate) fn steps(
    missing: &MissingTools,
    build_arguments: &[String],
    build: impl FnOnce(&[String]) -> Step,
) -> Result<Vec<Step>> {
    let trained = build_arguments.to_vec();
    let training = Step::check("training", "cargo xtask dist", move || run(&trained)).needing(&LLVM_TOOLS);
    let mut arguments_of_build = build_arguments.to_vec();
    if !missing.includes(&LLVM_TOOLS) {
        arguments_of_build.extend(arguments()?);
    }
    Ok(vec![training, build(&arguments_of_build)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::WhenMissing;

    #[test]
    fn builds_by_the_profile_only_after_a_training() {
        let missing = MissingTools::among([&LLVM_TOOLS], WhenMissing::Report).unwrap();
        let build = |arguments: &[String]| {
            Step::program("dist", Invocation::new("cargo build").with_arguments(arguments))
        };
        let [training, step] =
            steps(&missing, &["--features".into()], build).unwrap().try_into().ok().unwrap();
        assert!(training.needs.is_some_and(|tool| tool.name == LLVM_TOOLS.name));
        assert!(step.repeat.starts_with("cargo build --features"), "{}", step.repeat);
        let is_guided = step.repeat.contains("-Cprofile-use=/") && step.repeat.contains(PROFILE);
        assert_eq!(is_guided, !missing.includes(&LLVM_TOOLS), "{}", step.repeat);
    }
}
