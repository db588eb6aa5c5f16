//! The program that runs the tests, and how it leaves out those that need what a machine may not have.
//!
//! A test needs PostgreSQL when its test program is named `postgres`, or when a module in its path is; a browser when its
//! test program is named `browser`; axe when a module in its path is named `axe`.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;

use crate::invocation::Invocation;
use crate::repository;

/// Tests meet real clocks and real servers, and a machine that stands still for seconds makes one of thousands fail. It
/// is run again, and the summary says that it was flaky.
const NEXTEST: &str = "cargo nextest run --locked --workspace --retries 2";
const CARGO_TEST: &str = "cargo test --locked --workspace --lib --bins --examples";

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
    /// The test program whose tests all need it.
    const fn program(self) -> Option<&'static str> {
        match self {
            Self::Postgres => Some("postgres"),
            Self::Browser => Some("browser"),
            Self::Axe | Self::Proxy => None,
        }
    }

    /// The module whose tests need it, in whichever program.
    const fn module(self) -> Option<&'static str> {
        match self {
            Self::Postgres => Some("postgres::"),
            Self::Browser => None,
            Self::Axe => Some("axe::"),
            Self::Proxy => Some("documented::proxy::"),
        }
    }

    /// In nextest's words.
    fn filter(self) -> String {
        let program = self.program().map(|program| format!("binary({program})"));
        let module = self.module().map(|module| format!("test(/(^|::){module}/)"));
        program.into_iter().chain(module).collect::<Vec<_>>().join(" | ")
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
            (Self::Nextest, []) => Ok(Invocation::new(NEXTEST).with_arguments(arguments)),
            (Self::Nextest, unmet) => {
                let file = repository::root()?.join(NEXTEST_FILTER);
                fs::write(&file, nextest_settings(unmet))
                    .with_context(|| format!("cannot write {}", file.display()))?;
                let line = format!("{NEXTEST} --config-file {NEXTEST_FILTER}");
                Ok(Invocation::new(&line).with_arguments(arguments))
            }
            (Self::CargoTest, []) => Ok(Invocation::new(CARGO_TEST)
                .with_arguments(&["--tests".to_owned()])
                .with_arguments(arguments)),
            (Self::CargoTest, unmet) => Ok(cargo_test_without(unmet, &test_programs()?, arguments)),
        }
    }
}

/// A filter that a person gives is applied on top.
fn nextest_settings(unmet: &[Need]) -> String {
    let left_out: Vec<_> = unmet.iter().map(|need| need.filter()).collect();
    format!("[profile.default]\ndefault-filter = \"not ({})\"\n", left_out.join(" | "))
}

/// It cannot leave out a test program, so all others are named.
fn cargo_test_without(unmet: &[Need], programs: &BTreeSet<String>, arguments: &[String]) -> Invocation {
    let is_left_out = |program: &str| unmet.iter().any(|need| need.program() == Some(program));
    let others = programs.iter().filter(|program| !is_left_out(program));
    let named: Vec<String> = others.flat_map(|program| ["--test".to_owned(), program.clone()]).collect();
    let modules = unmet.iter().filter_map(|need| need.module());
    let mut skip: Vec<String> = modules.flat_map(|module| ["--skip", module]).map(String::from).collect();
    if !skip.is_empty() && !arguments.iter().any(|argument| argument == "--") {
        skip.insert(0, "--".to_owned());
    }
    Invocation::new(CARGO_TEST).with_arguments(&named).with_arguments(arguments).with_arguments(&skip)
}

fn test_programs() -> Result<BTreeSet<String>> {
    let metadata = MetadataCommand::new()
        .current_dir(repository::root()?)
        .no_deps()
        .other_options(vec!["--locked".to_owned()])
        .exec()
        .context("`cargo metadata` cannot list the tests of the workspace")?;
    let targets = metadata.packages.iter().flat_map(|package| &package.targets);
    Ok(targets.filter(|target| target.is_test()).map(|target| target.name.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn cargo_test_names_all_test_programs_but_those_that_need_what_is_not_there() {
        let programs = BTreeSet::from_iter(strings(&["browser", "postgres", "postgres_url", "program"]));
        let without =
            |unmet: &[Need]| cargo_test_without(unmet, &programs, &strings(&["policy"])).to_string();
        assert_eq!(
            without(&[Need::Postgres]),
            format!(
                "{CARGO_TEST} --test browser --test postgres_url --test program policy -- --skip postgres::"
            )
        );
        assert_eq!(
            without(&[Need::Browser]),
            format!("{CARGO_TEST} --test postgres --test postgres_url --test program policy")
        );
    }

    #[test]
    fn the_persons_arguments_for_the_test_programs_stay_in_their_place() {
        let arguments = strings(&["--", "--nocapture"]);
        let invocation = cargo_test_without(&[Need::Postgres], &BTreeSet::new(), &arguments);
        assert_eq!(invocation.to_string(), format!("{CARGO_TEST} -- --nocapture --skip postgres::"));
    }

    #[test]
    fn this_workspace_has_test_programs() {
        let programs = test_programs().unwrap();
        assert!(
            programs.contains("program") && programs.contains("browser") && programs.contains("postgres")
        );
    }

    #[test]
    fn nextest_is_told_what_to_leave_out() {
        let settings: toml::Table = nextest_settings(&[Need::Browser, Need::Axe]).parse().unwrap();
        let filter = settings["profile"]["default"]["default-filter"].as_str().unwrap();
        assert_eq!(filter, "not (binary(browser) | test(/(^|::)axe::/))");
        assert_eq!(Need::Proxy.filter(), "test(/(^|::)documented::proxy::/)");
        assert_eq!(Need::Postgres.filter(), "binary(postgres) | test(/(^|::)postgres::/)");
    }
}
