//! What the person asked for.

use std::fmt;

use crate::deep::Check;
use crate::requirement::WhenMissing;

pub(crate) const HELP: &str = "\
Usage: cargo xtask COMMAND

  test [--install] [-- ARGUMENTS]
      Everything a change must pass. Runs what the machine has and ends with what it had to skip.
      ARGUMENTS go to the test runner, a filter for instance.
  architecture
      Which crate may use which, and what may lie at the top of the repository.
  deep [coverage|mutants|kills] [--install]
      Slow checks of the tests themselves, with their figures; all of them when none is named.
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
    if command != "test" && !after_dashes.is_empty() {
        return Err(WrongUsage(format!("`{command}` takes nothing after `--`.")));
    }

    let (flags, names): (Vec<_>, Vec<_>) = own.iter().map(String::as_str).partition(|a| a.starts_with('-'));
    if flags.iter().any(|flag| matches!(*flag, "-h" | "--help")) {
        return Ok(Command::Help);
    }
    let missing = when_missing(&command, &flags, in_ci)?;
    match command.as_str() {
        "help" | "-h" | "--help" => Ok(Command::Help),
        "test" => none(&names, Command::Test { missing, runner_arguments: after_dashes }),
        "architecture" => none(&names, Command::Architecture),
        "deep" => Ok(Command::Deep { missing, checks: checks(&names)? }),
        unknown => Err(WrongUsage(format!("There is no command `{unknown}`."))),
    }
}

fn when_missing(command: &str, flags: &[&str], in_ci: bool) -> Result<WhenMissing, WrongUsage> {
    let mut missing = if in_ci { WhenMissing::InstallWhatWouldBeSkipped } else { WhenMissing::Report };
    for flag in flags {
        match *flag {
            "--install" if matches!(command, "test" | "deep") => missing = WhenMissing::InstallEverything,
            unknown => return Err(WrongUsage(format!("`{command}` has no option `{unknown}`."))),
        }
    }
    Ok(missing)
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
    fn what_is_not_understood_is_refused() {
        for line in [
            "tset",
            "test fast",
            "test --fast",
            "architecture --install",
            "deep sleep",
            "deep -- x",
            "help --all",
        ] {
            assert!(parsed(line, false).is_err(), "{line}");
        }
    }
}
