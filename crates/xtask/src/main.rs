//! The repository's chores, run as `cargo xtask COMMAND`.
//!
//! This crate uses no other crate of the workspace, so that its checks run while those do not compile. Its library is
//! what other crates use of it in their tests.
//! To add a chore: a variant of [`arguments::Command`], a module, and a line of the help text. To add a step to the
//! test command: an entry in `test_command::plan`, and a [`requirement::Requirement`] where it needs a tool.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool speaks to the person at the terminal"
)]

mod architecture;
mod arguments;
mod deep;
mod invocation;
mod postgres_command;
mod repository;
mod requirement;
mod steps;
mod test_command;
mod test_runner;
mod test_server;

use std::process::ExitCode;

use anyhow::Result;
use arguments::Command;

/// The exit code of wrong usage; a failed check is 1.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    let command = match arguments::parse(std::env::args().skip(1), in_ci) {
        Ok(command) => command,
        Err(wrong) => {
            eprintln!("{wrong}\n\n{}", arguments::HELP);
            return ExitCode::from(WRONG_USAGE);
        }
    };
    let result = match command {
        Command::Help => {
            println!("{}", arguments::HELP);
            Ok(ExitCode::SUCCESS)
        }
        Command::Test { missing, runner_arguments } => passed(test_command::run(missing, &runner_arguments)),
        Command::Architecture => passed(architecture::run()),
        Command::Deep { missing, checks } => passed(deep::run(missing, &checks)),
        Command::Postgres { durability, command } => postgres_command::run(durability, &command),
    };
    result.unwrap_or_else(|error| {
        eprintln!("\n{error:#}");
        ExitCode::FAILURE
    })
}

fn passed(check: Result<()>) -> Result<ExitCode> {
    check.map(|()| ExitCode::SUCCESS)
}
