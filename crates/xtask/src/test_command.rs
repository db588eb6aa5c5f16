//! The tests, and the checks that need no test run.

use std::fs;

use anyhow::{Context, Result};
use xtask::postgres::{Cluster, is_given};

use crate::architecture;
use crate::invocation::{Invocation, root};
use crate::kits;
use crate::requirement::{
    AXE, CARGO_DENY, CARGO_NEXTEST, CHROMIUM, DISCORD_JS, DISCORD_PY, MissingTools, NGINX, NODE, POSTGRESQL,
    PROMTOOL, Requirement, WhenMissing,
};
use crate::steps::{self, Step};

const CHECK_TOOLS: [&Requirement; 2] = [&CARGO_DENY, &PROMTOOL];
const TEST_TOOLS: [&Requirement; 8] =
    [&CARGO_NEXTEST, &POSTGRESQL, &CHROMIUM, &NGINX, &NODE, &AXE, &DISCORD_JS, &DISCORD_PY];

/// A tool that some tests need, and the module name of those tests.
const NEEDS: [(&Requirement, &str); 4] =
    [(&POSTGRESQL, "postgres::"), (&CHROMIUM, "browser::"), (&AXE, "axe::"), (&NGINX, "documented::proxy::")];

const NEXTEST: &str = "cargo nextest run --locked --workspace";
const CARGO_TEST: &str = "cargo test --locked --workspace --lib --bins --examples --tests";

/// The filter is in a file, because there it combines with a filter on the command line.
const NEXTEST_FILTER: &str = "target/left-out-tests.toml";

/// Runs formatting, architecture, licence, alert, lint and documentation checks.
pub(crate) fn check(policy: WhenMissing) -> Result<()> {
    steps::run(CHECK_TOOLS, policy, |_| Ok(checks()))
}

/// Runs the tests; in CI the checks first.
pub(crate) fn test(policy: WhenMissing, in_ci: bool, arguments: &[String]) -> Result<()> {
    let tools = if in_ci { &CHECK_TOOLS[..] } else { &[] };
    steps::run(tools.iter().chain(&TEST_TOOLS).copied(), policy, |missing| {
        let mut plan = if in_ci { checks() } else { Vec::new() };
        plan.push(tests(missing, is_given(), arguments)?);
        plan.push(Step::program("doc tests", Invocation::new("cargo test --locked --workspace --doc")));
        plan.extend(kits::step(missing));
        Ok(plan)
    })
}

/// Default features only: the optional ones build a TLS library from source, which only a release needs.
fn checks() -> Vec<Step> {
    let clippy = "cargo clippy --locked --workspace --all-targets -- -D warnings";
    let docs = Invocation::new("cargo doc --locked --workspace --no-deps");
    // The advisories need a network, so they have their own workflow.
    let dependencies = "cargo deny --locked --config .cargo/deny.toml check bans licenses sources";
    let alerts = "promtool test rules docs/deploy/prometheus-rules-test.yaml";
    vec![
        Step::program("format", Invocation::new("cargo fmt --all -- --check")),
        Step::check("architecture", "cargo xtask architecture", architecture::run),
        Step::program("dependencies", Invocation::new(dependencies)).needing(&CARGO_DENY),
        Step::program("alerts", Invocation::new(alerts)).needing(&PROMTOOL),
        Step::program("clippy", Invocation::new(clippy)),
        Step::program("docs", docs.with_environment([("RUSTDOCFLAGS", "-D warnings")])),
    ]
}

/// Returns the step for the tests, without those whose tool is missing, with a PostgreSQL server unless one is given.
fn tests(missing: &MissingTools, has_server: bool, arguments: &[String]) -> Result<Step> {
    let left_out: Vec<_> =
        NEEDS.iter().filter(|(tool, _)| missing.includes(tool)).map(|(_, module)| *module).collect();
    let invocation = match (missing.includes(&CARGO_NEXTEST), &left_out[..]) {
        (true, _) => cargo_test_without(&left_out, arguments),
        (false, []) => Invocation::new(&nextest()).with_arguments(arguments),
        (false, _) => {
            let file = root()?.join(NEXTEST_FILTER);
            fs::write(&file, nextest_settings(&left_out))
                .with_context(|| format!("cannot write {}", file.display()))?;
            let line = format!("{} --config-file {NEXTEST_FILTER}", nextest());
            Invocation::new(&line).with_arguments(arguments)
        }
    };
    if has_server || missing.includes(&POSTGRESQL) {
        return Ok(Step::program("tests", invocation.in_scratch_folder()));
    }
    Ok(Step::check("tests", &format!("cargo xtask postgres -- {invocation}"), move || {
        let cluster = Cluster::start()?;
        invocation.clone().with_environment(cluster.environment()).in_scratch_folder().run()
    }))
}

/// Two tests per core, because most wait for a program, a server or a browser.
fn nextest() -> String {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    format!("{NEXTEST} --test-threads {}", 2 * cores)
}

/// A filter on the command line applies in addition.
fn nextest_settings(left_out: &[&str]) -> String {
    let modules: Vec<_> = left_out.iter().map(|module| format!("test(/(^|::){module}/)")).collect();
    format!("[profile.default]\ndefault-filter = \"not ({})\"\n", modules.join(" | "))
}

fn cargo_test_without(left_out: &[&str], arguments: &[String]) -> Invocation {
    let mut skip: Vec<_> = left_out.iter().flat_map(|module| ["--skip", module]).map(String::from).collect();
    if !skip.is_empty() && !arguments.iter().any(|argument| argument == "--") {
        skip.insert(0, "--".to_owned());
    }
    Invocation::new(CARGO_TEST).with_arguments(arguments).with_arguments(&skip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_tests_with_the_same_kind_of_server() {
        for (has_server, beginning) in [
            (true, "cargo nextest run --locked --workspace "),
            (false, "cargo xtask postgres -- cargo nextest run --locked --workspace "),
        ] {
            let step = super::tests(&MissingTools::default(), has_server, &["policy".to_owned()]).unwrap();
            assert!(step.repeat.contains(beginning) && step.repeat.ends_with(" policy"), "{}", step.repeat);
        }
    }

    #[test]
    fn cargo_test_skips_modules_and_keeps_argument_order() {
        for (left_out, arguments, expected) in [
            (
                &["postgres::", "browser::"][..],
                &["policy"][..],
                "policy -- --skip postgres:: --skip browser::",
            ),
            (&[], &["policy"], "policy"),
            (&["postgres::"], &["--", "--nocapture"], "-- --nocapture --skip postgres::"),
        ] {
            let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
            let line = cargo_test_without(left_out, &arguments).to_string();
            assert_eq!(line, format!("{CARGO_TEST} {expected}"));
        }
    }

    #[test]
    fn excludes_modules_in_the_nextest_filter() {
        let settings: toml::Table = nextest_settings(&["browser::", "documented::proxy::"]).parse().unwrap();
        let filter = settings["profile"]["default"]["default-filter"].as_str().unwrap();
        assert_eq!(filter, "not (test(/(^|::)browser::/) | test(/(^|::)documented::proxy::/))");
    }
}
