//! Everything a change must pass, the quick gates first.

use anyhow::Result;

use crate::architecture;
use crate::invocation::Invocation;
use crate::requirement::{CARGO_DENY, CARGO_NEXTEST, MissingTools, WhenMissing};
use crate::steps::{self, Step};

pub(crate) fn run(policy: WhenMissing, runner_arguments: &[String]) -> Result<()> {
    steps::run([&CARGO_DENY, &CARGO_NEXTEST], policy, |missing| plan(missing, runner_arguments))
}

/// Default features throughout: the optional ones build a TLS library from source, which only a release needs.
fn plan(missing: &MissingTools, runner_arguments: &[String]) -> Vec<Step> {
    let clippy = "cargo clippy --locked --workspace --all-targets -- -D warnings";
    let docs = Invocation::new("cargo doc --locked --workspace --no-deps");
    // The advisories need a network, so they have a workflow of their own.
    let dependencies = "cargo deny --locked --config .cargo/deny.toml check bans licenses sources";
    let runner = if missing.includes(&CARGO_NEXTEST) {
        "cargo test --locked --workspace --lib --bins --tests --examples"
    } else {
        "cargo nextest run --locked --workspace"
    };
    vec![
        Step::program("format", Invocation::new("cargo fmt --all -- --check")),
        Step::check("architecture", "cargo xtask architecture", architecture::run),
        Step::program("dependencies", Invocation::new(dependencies)).needing(&CARGO_DENY),
        Step::program("clippy", Invocation::new(clippy)),
        Step::program("docs", docs.with_environment("RUSTDOCFLAGS", "-D warnings")),
        Step::program("tests", Invocation::new(runner).with_arguments(runner_arguments)),
        Step::program("doc tests", Invocation::new("cargo test --locked --workspace --doc")),
    ]
}
