//! Everything a change must pass, the quick gates first.

use anyhow::Result;

use crate::architecture;
use crate::bench;
use crate::invocation::Invocation;
use crate::requirement::{CARGO_DENY, CARGO_NEXTEST, MissingTools, POSTGRESQL, VALGRIND, WhenMissing};
use crate::steps::{self, Step};
use crate::test_runner::{Runner, Selection};
use crate::test_server::TestServer;

pub(crate) fn run(policy: WhenMissing, runner_arguments: &[String]) -> Result<()> {
    let required = [&CARGO_DENY, &CARGO_NEXTEST, &POSTGRESQL, &VALGRIND];
    steps::run(required, policy, |missing| plan(missing, runner_arguments))
}

/// Default features throughout: the optional ones build a TLS library from source, which only a release needs.
fn plan(missing: &MissingTools, runner_arguments: &[String]) -> Result<Vec<Step>> {
    let clippy = "cargo clippy --locked --workspace --all-targets -- -D warnings";
    let docs = Invocation::new("cargo doc --locked --workspace --no-deps");
    // The advisories need a network, so they have a workflow of their own.
    let dependencies = "cargo deny --locked --config .cargo/deny.toml check bans licenses sources";
    let runner = if missing.includes(&CARGO_NEXTEST) { Runner::CargoTest } else { Runner::Nextest };
    Ok(vec![
        Step::program("format", Invocation::new("cargo fmt --all -- --check")),
        Step::check("architecture", "cargo xtask architecture", architecture::run),
        Step::program("dependencies", Invocation::new(dependencies)).needing(&CARGO_DENY),
        Step::program("clippy", Invocation::new(clippy)),
        Step::program("docs", docs.with_environment("RUSTDOCFLAGS", "-D warnings")),
        tests(runner, TestServer::of_this_machine(missing), runner_arguments)?,
        Step::program("doc tests", Invocation::new("cargo test --locked --workspace --doc")),
        bench::instructions(),
    ])
}

fn tests(runner: Runner, server: TestServer, arguments: &[String]) -> Result<Step> {
    let name = "tests";
    Ok(match server {
        TestServer::Given => Step::program(name, runner.invocation(Selection::All, arguments)?),
        TestServer::Own => Step::program_with_postgres(name, runner.invocation(Selection::All, arguments)?),
        TestServer::Missing => Step::program(name, runner.invocation(Selection::WithoutPostgres, arguments)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_repeat_with_the_server_they_had() {
        for (server, expected) in [
            (TestServer::Given, "cargo nextest run --locked --workspace --retries 2 policy"),
            (
                TestServer::Own,
                "cargo xtask postgres -- cargo nextest run --locked --workspace --retries 2 policy",
            ),
        ] {
            let step = super::tests(Runner::Nextest, server, &["policy".to_owned()]).unwrap();
            assert_eq!(step.how_to_repeat(), expected);
        }
    }

    #[test]
    fn without_a_server_the_tests_that_need_it_are_left_out() {
        let step = super::tests(Runner::Nextest, TestServer::Missing, &[]).unwrap();
        assert!(step.how_to_repeat().ends_with("crates/xtask/without-postgres.toml"));
        let step = super::tests(Runner::CargoTest, TestServer::Missing, &[]).unwrap();
        assert!(step.how_to_repeat().ends_with(" -- --skip postgres::"));
    }
}
