//! The program that runs the tests, and how it leaves out those that need PostgreSQL.
//!
//! A test needs it when its test program is named `postgres`, or when a module in its path is.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;

use crate::invocation::Invocation;
use crate::repository;

/// Tests meet real clocks and real servers, and a machine that stands still for seconds makes one of thousands fail. It
/// is run again, and the summary says that it was flaky.
const NEXTEST: &str = "cargo nextest run --locked --workspace --retries 2";
const CARGO_TEST: &str = "cargo test --locked --workspace --lib --bins --examples";

/// The filter is in a file: unlike one on the command line, it also holds beside the person's own.
const NEXTEST_WITHOUT_POSTGRES: &str =
    "cargo nextest run --locked --workspace --retries 2 --config-file crates/xtask/without-postgres.toml";
const POSTGRES_PROGRAM: &str = "postgres";
const POSTGRES_MODULE: &str = "postgres::";

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Runner {
    Nextest,
    CargoTest,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Selection {
    All,
    WithoutPostgres,
}

impl Runner {
    pub(crate) fn invocation(self, selection: Selection, arguments: &[String]) -> Result<Invocation> {
        match (self, selection) {
            (Self::Nextest, Selection::All) => Ok(Invocation::new(NEXTEST).with_arguments(arguments)),
            (Self::Nextest, Selection::WithoutPostgres) => {
                Ok(Invocation::new(NEXTEST_WITHOUT_POSTGRES).with_arguments(arguments))
            }
            (Self::CargoTest, Selection::All) => Ok(Invocation::new(CARGO_TEST)
                .with_arguments(&["--tests".to_owned()])
                .with_arguments(arguments)),
            (Self::CargoTest, Selection::WithoutPostgres) => {
                Ok(cargo_test_without_postgres(&test_programs()?, arguments))
            }
        }
    }
}

/// It cannot leave out a test program, so all others are named.
fn cargo_test_without_postgres(programs: &BTreeSet<String>, arguments: &[String]) -> Invocation {
    let others = programs.iter().filter(|program| *program != POSTGRES_PROGRAM);
    let named: Vec<String> = others.flat_map(|program| ["--test".to_owned(), program.clone()]).collect();
    let mut skip = ["--skip", POSTGRES_MODULE].map(String::from).to_vec();
    if !arguments.iter().any(|argument| argument == "--") {
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
    fn cargo_test_names_all_test_programs_but_the_one_that_needs_a_server() {
        let programs = BTreeSet::from_iter(strings(&["postgres", "postgres_url", "program"]));
        let invocation = cargo_test_without_postgres(&programs, &strings(&["policy"]));
        assert_eq!(
            invocation.to_string(),
            format!("{CARGO_TEST} --test postgres_url --test program policy -- --skip postgres::")
        );
    }

    #[test]
    fn the_persons_arguments_for_the_test_programs_stay_in_their_place() {
        let invocation = cargo_test_without_postgres(&BTreeSet::new(), &strings(&["--", "--nocapture"]));
        assert_eq!(invocation.to_string(), format!("{CARGO_TEST} -- --nocapture --skip postgres::"));
    }

    #[test]
    fn this_workspace_has_test_programs() {
        assert!(test_programs().unwrap().contains("program"));
    }

    #[test]
    fn nextest_finds_the_filter_where_it_is_told_to_look() {
        let invocation =
            Runner::Nextest.invocation(Selection::WithoutPostgres, &strings(&["policy"])).unwrap();
        assert_eq!(invocation.to_string(), format!("{NEXTEST_WITHOUT_POSTGRES} policy"));
        let (_, path) = NEXTEST_WITHOUT_POSTGRES.split_once("--config-file ").unwrap();
        let settings = repository::root().unwrap().join(path);
        let settings: toml::Table = std::fs::read_to_string(settings).unwrap().parse().unwrap();
        let filter = settings["profile"]["default"]["default-filter"].as_str().unwrap();
        assert_eq!(filter, "not (binary(postgres) | test(/(^|::)postgres::/))");
    }
}
