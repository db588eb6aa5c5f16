//! Sets the build information of the program: from `COMPANION_BUILD_*` if set, else from git, else to placeholders.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// The variable that the program reads, the git command that prints its value, and the placeholder.
const FACTS: [(&str, &[&str], &str); 5] = [
    ("COMPANION_BUILD_BRANCH", &["symbolic-ref", "--short", "HEAD"], "unknown"),
    ("COMPANION_BUILD_SHA", &["log", "-1", "--format=%H"], "unknown"),
    ("COMPANION_BUILD_MESSAGE", &["log", "-1", "--format=%s"], "unknown"),
    ("COMPANION_BUILD_AUTHOR", &["log", "-1", "--format=%an"], "unknown"),
    ("COMPANION_BUILD_TIMESTAMP", &["log", "-1", "--format=%ct"], "0"),
];

fn main() {
    // Without any `rerun-if` line cargo would rerun this script whenever a source of the package changes.
    emit("cargo::rerun-if-changed=build.rs");
    let repository = repository();
    for (name, command, unknown) in FACTS {
        emit(&format!("cargo::rerun-if-env-changed={name}"));
        let given = env::var(name).ok().filter(|fact| !fact.trim().is_empty());
        let fact = given.or_else(|| repository.as_deref().and_then(|root| git(root, command)));
        let line = fact.as_deref().and_then(|fact| fact.trim().lines().next()).unwrap_or(unknown);
        emit(&format!("cargo::rustc-env={name}={line}"));
    }
    for path in repository.iter().flat_map(|root| head_files(root)) {
        emit(&format!("cargo::rerun-if-changed={}", path.display()));
    }
}

/// Returns the root of the repository that contains these sources, or `None` if it merely encloses an unpacked archive.
fn repository() -> Option<PathBuf> {
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).ancestors().nth(2)?.canonicalize().ok()?;
    let top = PathBuf::from(git(&root, &["rev-parse", "--show-toplevel"])?);
    (top.canonicalize().ok()? == root).then_some(root)
}

/// Returns the files that change when `HEAD` moves. Missing files are left out, because cargo treats them as changed on
/// every build.
fn head_files(root: &Path) -> Vec<PathBuf> {
    let inside = |name: &str| {
        let path = git(root, &["rev-parse", "--git-path", name])?;
        Some(root.join(path)).filter(|path| path.exists())
    };
    // The log of HEAD grows with every commit, checkout and reset. Before the first commit it does not exist, and a new
    // branch file marks the change.
    let moves = inside("logs/HEAD").or_else(|| inside("refs/heads"));
    inside("HEAD").into_iter().chain(moves).collect()
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// Prints an instruction to cargo.
fn emit(line: &str) {
    println!("{line}");
}
