//! What a change must pass: the tests, and the checks that need no test to run.

use anyhow::Result;

use crate::architecture;
use crate::invocation::Invocation;
use crate::kits;
use crate::requirement::{
    AXE, CARGO_DENY, CARGO_NEXTEST, CHROMIUM, DISCORD_JS, DISCORD_PY, MissingTools, NGINX, NODE, POSTGRESQL,
    PROMTOOL, Requirement, WhenMissing,
};
use crate::steps::{self, Step};
use crate::test_runner::{Need, Runner};
use crate::test_server::TestServer;

const CHECK_TOOLS: [&Requirement; 2] = [&CARGO_DENY, &PROMTOOL];
const TEST_TOOLS: [&Requirement; 8] =
    [&CARGO_NEXTEST, &POSTGRESQL, &CHROMIUM, &NGINX, &NODE, &AXE, &DISCORD_JS, &DISCORD_PY];

/// Formatting, architecture, licences, alerts, lints and documentation.
pub(crate) fn check(policy: WhenMissing) -> Result<()> {
    steps::run(CHECK_TOOLS, policy, |_| Ok(checks()))
}

/// The tests; in CI the checks come first.
pub(crate) fn test(policy: WhenMissing, in_ci: bool, runner_arguments: &[String]) -> Result<()> {
    let tools = if in_ci { &CHECK_TOOLS[..] } else { &[] };
    steps::run(tools.iter().chain(&TEST_TOOLS).copied(), policy, |missing| {
        let mut plan = if in_ci { checks() } else { Vec::new() };
        plan.extend(tests(missing, runner_arguments)?);
        Ok(plan)
    })
}

/// The program as it is published.
pub(crate) fn dist(build_arguments: &[String]) -> Result<()> {
    Invocation::new("cargo build --locked --package companion --profile dist")
        .with_arguments(build_arguments)
        .run()
}

/// Default features throughout: the optional ones build a TLS library from source, which only a release needs.
fn checks() -> Vec<Step> {
    let clippy = "cargo clippy --locked --workspace --all-targets -- -D warnings";
    let docs = Invocation::new("cargo doc --locked --workspace --no-deps");
    // The advisories need a network, so they have a workflow of their own.
    let dependencies = "cargo deny --locked --config .cargo/deny.toml check bans licenses sources";
    let alerts = "promtool test rules docs/deploy/prometheus-rules-test.yaml";
    vec![
        Step::program("format", Invocation::new("cargo fmt --all -- --check")),
        Step::check("architecture", "cargo xtask architecture", architecture::run),
        Step::program("dependencies", Invocation::new(dependencies)).needing(&CARGO_DENY),
        Step::program("alerts", Invocation::new(alerts)).needing(&PROMTOOL),
        Step::program("clippy", Invocation::new(clippy)),
        Step::program("docs", docs.with_environment("RUSTDOCFLAGS", "-D warnings")),
    ]
}

fn tests(missing: &MissingTools, runner_arguments: &[String]) -> Result<Vec<Step>> {
    let runner = if missing.includes(&CARGO_NEXTEST) { Runner::CargoTest } else { Runner::Nextest };
    let [python, node] = kits::steps();
    Ok(vec![
        suite(runner, TestServer::of_this_machine(missing), unmet(missing), runner_arguments)?,
        Step::program("doc tests", Invocation::new("cargo test --locked --workspace --doc")),
        python,
        node,
    ])
}

/// What tests need and this machine does not have.
fn unmet(missing: &MissingTools) -> Vec<Need> {
    let needs = [(&CHROMIUM, Need::Browser), (&AXE, Need::Axe), (&NGINX, Need::Proxy)];
    needs.into_iter().filter(|(tool, _)| missing.includes(tool)).map(|(_, need)| need).collect()
}

fn suite(runner: Runner, server: TestServer, mut unmet: Vec<Need>, arguments: &[String]) -> Result<Step> {
    if server == TestServer::Missing {
        unmet.push(Need::Postgres);
    }
    let invocation = runner.invocation(&unmet, arguments)?;
    Ok(match server {
        TestServer::Given | TestServer::Missing => Step::program("tests", invocation.in_scratch_folder()),
        TestServer::Own => Step::program_with_postgres("tests", invocation),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_repeat_with_the_server_they_had() {
        for (server, beginning) in [
            (TestServer::Given, "cargo nextest run --locked --workspace "),
            (TestServer::Own, "cargo xtask postgres -- cargo nextest run --locked --workspace "),
        ] {
            let step = suite(Runner::Nextest, server, vec![], &["policy".to_owned()]).unwrap();
            let repeat = step.how_to_repeat();
            assert!(repeat.contains(beginning) && repeat.ends_with(" policy"), "{repeat}");
        }
    }

    #[test]
    fn without_a_server_or_a_browser_the_tests_that_need_it_are_left_out() {
        let step = suite(Runner::Nextest, TestServer::Missing, vec![], &[]).unwrap();
        assert!(step.how_to_repeat().contains(" --config-file target/"), "{}", step.how_to_repeat());
        let step = suite(Runner::CargoTest, TestServer::Missing, vec![Need::Axe], &[]).unwrap();
        assert!(step.how_to_repeat().ends_with(" -- --skip axe:: --skip postgres::"));
    }
}
