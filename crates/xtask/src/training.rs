//! Profile-guided optimization: a build that counts, its training, and the build that uses the counts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::invocation::{Invocation, root};
use crate::requirement::{LLVM_TOOLS, MissingTools};
use crate::steps::Step;

/// The counting build needs no LTO: functions are counted before it.
const TRAIN: &str = "cargo bench --locked --package companion --bench speed --config profile.bench.lto=false";
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

/// Makes the profile: builds the program and the benchmark so that they count, and trains them.
pub(crate) fn run() -> Result<()> {
    let counts = root()?.join(FOLDER).join("counts");
    if counts.exists() {
        std::fs::remove_dir_all(&counts)?;
    }
    let libraries = libraries()?;
    let target = libraries.parent().and_then(|parent| parent.file_name()).context("rustc has no target")?;
    // The named target keeps the flags from build scripts.
    let of_training = ["--target", &target.to_string_lossy(), "--target-dir", FOLDER, "--", "train"];
    Invocation::new(TRAIN)
        .with_arguments(&flags("generate", &counts))
        .with_arguments(&of_training.map(str::to_owned))
        .run()?;
    let merging = format!("{} merge --output {PROFILE} {}", merger()?.display(), counts.display());
    Invocation::new(&merging).run()
}

/// Returns the arguments of a build that uses the profile.
pub(crate) fn arguments() -> Result<[String; 2]> {
    Ok(flags("use", &root()?.join(PROFILE)))
}

/// Returns the training, and a step that builds by the profile. Without the tools it builds without one.
pub(crate) fn steps(
    missing: &MissingTools,
    name: &'static str,
    build: impl FnOnce(&[String]) -> Invocation,
) -> Result<Vec<Step>> {
    let profile = arguments()?;
    let profile = if missing.includes(&LLVM_TOOLS) { &[] } else { &profile[..] };
    let training = Step::check("training", "cargo xtask dist", run).needing(&LLVM_TOOLS);
    Ok(vec![training, Step::program(name, build(profile))])
}

/// A list, so that it is joined with flags on the command line.
fn flags(action: &str, path: &Path) -> [String; 2] {
    ["--config".to_owned(), format!("build.rustflags=[\"-Cprofile-{action}={}\"]", path.display())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::WhenMissing;

    #[test]
    fn builds_by_the_profile_only_after_a_training() {
        let build = |profile: &[String]| Invocation::new("cargo build").with_arguments(profile);
        let missing = MissingTools::among([&LLVM_TOOLS], WhenMissing::Report).unwrap();
        let [training, step] = steps(&missing, "dist", build).unwrap().try_into().ok().unwrap();
        assert!(training.needs.is_some_and(|tool| tool.name == LLVM_TOOLS.name));
        let is_guided = step.repeat.contains("-Cprofile-use=/") && step.repeat.contains(PROFILE);
        assert_eq!(is_guided, !missing.includes(&LLVM_TOOLS), "{}", step.repeat);
    }
}
