//! What the person asked for.

use std::fmt;

use crate::deep::Check;
use crate::postgres_command::Durability;
use crate::requirement::WhenMissing;

pub(crate) const HELP: &str = "\
Usage: cargo xtask COMMAND

  test [--install] [-- ARGUMENTS]
      Everything a change must pass. Runs what the machine has and ends with what it had to skip.
      ARGUMENTS go to the test runner, a filter for instance. The tests get a PostgreSQL server of their own,
      or use the one whose URL is in COMPANION_TEST_POSTGRES.
  architecture
      Which crate may use which, and what may lie at the top of the repository.
  deep [coverage|mutants|kills|simulation] [--install]
      Slow checks of the tests themselves, with their figures; all of them when none is named.
  postgres [--durable] [-- COMMAND]
      A PostgreSQL server that is thrown away afterwards. COMMAND finds its URL in COMPANION_TEST_POSTGRES;
      without one, the server runs until Ctrl-C. It syncs no commit to the disk unless --durable says so.
  help
      This text.

  --install   install what is missing instead of skipping it
  CI=true     in the environment: install whatever would otherwise be skipped";

#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Help,
    Test { missing: WhenMissing, runner_arguments: Vec<String> },
    Architecture,
    Deep { missing: WhenMissing, checks: Vec<Check> },
    Postgres { durability: Durability, command: Vec<String> },
}

#[derive(Debug, PartialEq)]
pub(crate) struct WrongUsage(String);

impl fmt::Display for WrongUsage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

pub(crate) fn parse(arguments: impl IntoIterator<Item = String>, in_ci: bool) -> Result<Command, WrongUsage> {
    let mut arguments = arguments.into_iter();
    let Some(command) = arguments.next() else {
        return Ok(Command::Help);
    };
    let own: Vec<String> = arguments.by_ref().take_while(|argument| argument != "--").collect();
    let after_dashes: Vec<String> = arguments.collect();
    if !matches!(command.as_str(), "test" | "postgres") && !after_dashes.is_empty() {
        return Err(WrongUsage(format!("`{command}` takes nothing after `--`.")));
    }

    let (flags, names): (Vec<_>, Vec<_>) = own.iter().map(String::as_str).partition(|a| a.starts_with('-'));
    if flags.iter().any(|flag| matches!(*flag, "-h" | "--help")) {
        return Ok(Command::Help);
    }
    let flags = Flags::of(&command, &flags)?;
    let missing = match (flags.install, in_ci) {
        (true, _) => WhenMissing::InstallEverything,
        (false, true) => WhenMissing::InstallWhatWouldBeSkipped,
        (false, false) => WhenMissing::Report,
    };
    match command.as_str() {
        "help" | "-h" | "--help" => Ok(Command::Help),
        "test" => none(&names, Command::Test { missing, runner_arguments: after_dashes }),
        "architecture" => none(&names, Command::Architecture),
        "deep" => Ok(Command::Deep { missing, checks: checks(&names)? }),
        "postgres" => none(&names, Command::Postgres { durability: flags.durability, command: after_dashes }),
        unknown => Err(WrongUsage(format!("There is no command `{unknown}`."))),
    }
}

struct Flags {
    install: bool,
    durability: Durability,
}

impl Flags {
    fn of(command: &str, given: &[&str]) -> Result<Self, WrongUsage> {
        let mut flags = Self { install: false, durability: Durability::Quick };
        for flag in given {
            match (*flag, command) {
                ("--install", "test" | "deep") => flags.install = true,
                ("--durable", "postgres") => flags.durability = Durability::Durable,
                (unknown, _) => return Err(WrongUsage(format!("`{command}` has no option `{unknown}`."))),
            }
        }
        Ok(flags)
    }
}

fn none(names: &[&str], command: Command) -> Result<Command, WrongUsage> {
    match names.first() {
        None => Ok(command),
        Some(name) => Err(WrongUsage(format!("`{name}` is one argument too many."))),
    }
}

fn checks(names: &[&str]) -> Result<Vec<Check>, WrongUsage> {
    if names.is_empty() {
        return Ok(Check::ALL.to_vec());
    }
    let known = |name: &&str| Check::ALL.into_iter().find(|check| check.name() == *name);
    names
        .iter()
        .map(|name| known(name).ok_or_else(|| WrongUsage(format!("There is no deep check `{name}`."))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str, in_ci: bool) -> Result<Command, WrongUsage> {
        parse(line.split_whitespace().map(String::from), in_ci)
    }

    #[test]
    fn no_arguments_and_help_show_the_help() {
        for line in ["", "help", "--help", "test --help"] {
            assert_eq!(parsed(line, false), Ok(Command::Help), "{line}");
        }
    }

    #[test]
    fn what_follows_the_dashes_goes_to_the_test_runner() {
        let runner_arguments = vec!["policy".to_owned(), "--no-fail-fast".to_owned()];
        let expected = Command::Test { missing: WhenMissing::Report, runner_arguments };
        assert_eq!(parsed("test -- policy --no-fail-fast", false), Ok(expected));
    }

    #[test]
    fn ci_installs_what_would_be_skipped_and_the_flag_everything() {
        for (line, in_ci, missing) in [
            ("test", false, WhenMissing::Report),
            ("test", true, WhenMissing::InstallWhatWouldBeSkipped),
            ("test --install", true, WhenMissing::InstallEverything),
        ] {
            assert_eq!(
                parsed(line, in_ci),
                Ok(Command::Test { missing, runner_arguments: vec![] }),
                "{line}"
            );
        }
    }

    #[test]
    fn deep_runs_all_checks_unless_one_is_named() {
        let missing = WhenMissing::Report;
        assert_eq!(parsed("deep", false), Ok(Command::Deep { missing, checks: Check::ALL.to_vec() }));
        assert_eq!(
            parsed("deep mutants", false),
            Ok(Command::Deep { missing, checks: vec![Check::Mutants] })
        );
    }

    #[test]
    fn postgres_runs_what_follows_the_dashes_beside_a_server() {
        let command = ["cargo", "test", "--", "--nocapture"].map(String::from).to_vec();
        assert_eq!(
            parsed("postgres --durable -- cargo test -- --nocapture", false),
            Ok(Command::Postgres { durability: Durability::Durable, command })
        );
        let alone = Command::Postgres { durability: Durability::Quick, command: vec![] };
        assert_eq!(parsed("postgres", true), Ok(alone));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for line in [
            "tset",
            "test fast",
            "test --fast",
            "architecture --install",
            "deep sleep",
            "deep -- x",
            "postgres cargo test",
            "postgres --install",
            "test --durable",
            "help --all",
        ] {
            assert!(parsed(line, false).is_err(), "{line}");
        }
    }
}
