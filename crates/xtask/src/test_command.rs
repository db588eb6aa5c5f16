//! Everything a change must pass, the quick gates first.

use anyhow::Result;

use crate::architecture;
use crate::bench;
use crate::invocation::Invocation;
use crate::kits;
use crate::requirement::{
    AXE, CARGO_DENY, CARGO_NEXTEST, CHROMIUM, DISCORD_PY, MissingTools, NGINX, NODE, POSTGRESQL, PROMTOOL,
    VALGRIND, WhenMissing,
};
use crate::steps::{self, Step};
use crate::test_runner::{Need, Runner};
use crate::test_server::TestServer;

pub(crate) fn run(policy: WhenMissing, runner_arguments: &[String]) -> Result<()> {
    let required = [
        &CARGO_DENY,
        &CARGO_NEXTEST,
        &POSTGRESQL,
        &CHROMIUM,
        &NGINX,
        &NODE,
        &AXE,
        &DISCORD_PY,
        &PROMTOOL,
        &VALGRIND,
    ];
    steps::run(required, policy, |missing| plan(missing, runner_arguments))
}

/// Default features throughout: the optional ones build a TLS library from source, which only a release needs.
fn plan(missing: &MissingTools, runner_arguments: &[String]) -> Result<Vec<Step>> {
    let clippy = "cargo clippy --locked --workspace --all-targets -- -D warnings";
    let docs = Invocation::new("cargo doc --locked --workspace --no-deps");
    // The advisories need a network, so they have a workflow of their own.
    let dependencies = "cargo deny --locked --config .cargo/deny.toml check bans licenses sources";
    let runner = if missing.includes(&CARGO_NEXTEST) { Runner::CargoTest } else { Runner::Nextest };
    let alerts = "promtool test rules docs/deploy/prometheus-rules-test.yaml";
    let [python, node] = kits::steps();
    Ok(vec![
        Step::program("format", Invocation::new("cargo fmt --all -- --check")),
        Step::check("architecture", "cargo xtask architecture", architecture::run),
        Step::program("dependencies", Invocation::new(dependencies)).needing(&CARGO_DENY),
        Step::program("alerts", Invocation::new(alerts)).needing(&PROMTOOL),
        Step::program("clippy", Invocation::new(clippy)),
        Step::program("docs", docs.with_environment("RUSTDOCFLAGS", "-D warnings")),
        tests(runner, TestServer::of_this_machine(missing), unmet(missing), runner_arguments)?,
        Step::program("doc tests", Invocation::new("cargo test --locked --workspace --doc")),
        python,
        node,
        bench::instructions(),
    ])
}

/// What tests need and this machine does not have.
fn unmet(missing: &MissingTools) -> Vec<Need> {
    let needs = [(&CHROMIUM, Need::Browser), (&AXE, Need::Axe), (&NGINX, Need::Proxy)];
    needs.into_iter().filter(|(tool, _)| missing.includes(tool)).map(|(_, need)| need).collect()
}

fn tests(runner: Runner, server: TestServer, mut unmet: Vec<Need>, arguments: &[String]) -> Result<Step> {
    if server == TestServer::Missing {
        unmet.push(Need::Postgres);
    }
    let invocation = runner.invocation(&unmet, arguments)?;
    Ok(match server {
        TestServer::Given | TestServer::Missing => Step::program("tests", invocation),
        TestServer::Own => Step::program_with_postgres("tests", invocation),
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
            let step = super::tests(Runner::Nextest, server, vec![], &["policy".to_owned()]).unwrap();
            assert_eq!(step.how_to_repeat(), expected);
        }
    }

    #[test]
    fn without_a_server_or_a_browser_the_tests_that_need_it_are_left_out() {
        let step = super::tests(Runner::Nextest, TestServer::Missing, vec![], &[]).unwrap();
        assert!(step.how_to_repeat().contains(" --config-file target/"), "{}", step.how_to_repeat());
        let step = super::tests(Runner::CargoTest, TestServer::Missing, vec![Need::Axe], &[]).unwrap();
        assert!(step.how_to_repeat().ends_with(" -- --skip axe:: --skip postgres::"));
    }
}
