//! The program that runs the tests, and how it leaves out those that need what a machine may not have: the path of such a test
//! has a module that is named after the tool.

use std::fs;

use anyhow::{Context, Result};

use crate::invocation::Invocation;
use crate::repository;

const NEXTEST: &str = "cargo nextest run --locked --workspace";
const CARGO_TEST: &str = "cargo test --locked --workspace --lib --bins --examples --tests";

/// The filter is in a file: unlike one on the command line, it also holds beside the person's own.
const NEXTEST_FILTER: &str = "target/left-out-tests.toml";

/// What some tests need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Need {
    Postgres,
    Browser,
    Axe,
    Proxy,
}

impl Need {
    /// The module whose tests need it, in whichever program.
    const fn module(self) -> &'static str {
        match self {
            Self::Postgres => "postgres::",
            Self::Browser => "browser::",
            Self::Axe => "axe::",
            Self::Proxy => "documented::proxy::",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Runner {
    Nextest,
    CargoTest,
}

impl Runner {
    /// Runs the tests but for those that need what is not there.
    pub(crate) fn invocation(self, unmet: &[Need], arguments: &[String]) -> Result<Invocation> {
        match (self, unmet) {
            (Self::Nextest, []) => Ok(Invocation::new(&nextest()).with_arguments(arguments)),
            (Self::Nextest, unmet) => {
                let file = repository::root()?.join(NEXTEST_FILTER);
                fs::write(&file, nextest_settings(unmet))
                    .with_context(|| format!("cannot write {}", file.display()))?;
                let line = format!("{} --config-file {NEXTEST_FILTER}", nextest());
                Ok(Invocation::new(&line).with_arguments(arguments))
            }
            (Self::CargoTest, unmet) => Ok(cargo_test_without(unmet, arguments)),
        }
    }
}

/// Two tests for each core: most wait for a program, a server or a browser.
fn nextest() -> String {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    format!("{NEXTEST} --test-threads {}", 2 * cores)
}

/// A filter that a person gives is applied on top.
fn nextest_settings(unmet: &[Need]) -> String {
    let modules: Vec<_> = unmet.iter().map(|need| format!("test(/(^|::){}/)", need.module())).collect();
    format!("[profile.default]\ndefault-filter = \"not ({})\"\n", modules.join(" | "))
}

fn cargo_test_without(unmet: &[Need], arguments: &[String]) -> Invocation {
    let mut skip: Vec<String> =
        unmet.iter().flat_map(|need| ["--skip", need.module()]).map(String::from).collect();
    if !skip.is_empty() && !arguments.iter().any(|argument| argument == "--") {
        skip.insert(0, "--".to_owned());
    }
    Invocation::new(CARGO_TEST).with_arguments(arguments).with_arguments(&skip)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn cargo_test_skips_the_modules_that_need_what_is_missing() {
        let without = |unmet: &[Need]| cargo_test_without(unmet, &strings(&["policy"])).to_string();
        let skipped = without(&[Need::Postgres, Need::Browser]);
        assert_eq!(skipped, format!("{CARGO_TEST} policy -- --skip postgres:: --skip browser::"));
        assert_eq!(without(&[]), format!("{CARGO_TEST} policy"));
    }

    #[test]
    fn the_persons_arguments_for_the_test_programs_stay_in_their_place() {
        let invocation = cargo_test_without(&[Need::Postgres], &strings(&["--", "--nocapture"]));
        assert_eq!(invocation.to_string(), format!("{CARGO_TEST} -- --nocapture --skip postgres::"));
    }

    #[test]
    fn nextest_is_told_what_to_leave_out() {
        let settings: toml::Table = nextest_settings(&[Need::Browser, Need::Proxy]).parse().unwrap();
        let filter = settings["profile"]["default"]["default-filter"].as_str().unwrap();
        assert_eq!(filter, "not (test(/(^|::)browser::/) | test(/(^|::)documented::proxy::/))");
    }
}
