//! The repository's development tasks, run as `cargo xtask COMMAND`.
//!
//! This crate depends on no other crate of the workspace, so that its checks run even if those do not compile. Its
//! library is for the tests of other crates.
//! To add a task: a variant of [`arguments::Command`], and a module. To add a step to the test command: an entry in
//! `test_command::tests` or `test_command::checks`, and a [`requirement::Requirement`] if it needs a tool.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool prints to the terminal")]

mod architecture;
mod arguments;
mod bench;
mod build_times;
mod deep;
mod dist;
mod invocation;
mod kits;
mod postgres_command;
mod requirement;
mod steps;
mod test_command;

use std::process::ExitCode;

use anyhow::Result;
use arguments::{Arguments, Command};
use clap::Parser as _;

fn main() -> ExitCode {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    let result = match Arguments::parse().command {
        Command::Test { install, runner_arguments } => {
            passed(test_command::test(install.when_missing(in_ci), in_ci, &runner_arguments))
        }
        Command::Check { install } => passed(test_command::check(install.when_missing(in_ci))),
        Command::Dist { install, build_arguments } => {
            passed(dist::run(install.when_missing(in_ci), &build_arguments))
        }
        Command::Architecture => passed(architecture::run()),
        Command::Kits { languages } => passed(kits::run(&languages)),
        Command::Deep { checks, install } => passed(deep::run(install.when_missing(in_ci), &checks)),
        Command::Bench { tables, quick, write, install } => {
            passed(bench::run(install.when_missing(in_ci), &tables, quick, write))
        }
        Command::BuildTimes => passed(build_times::run()),
        Command::Postgres { durable, command } => postgres_command::run(durable, &command),
    };
    result.unwrap_or_else(|error| {
        eprintln!("\n{error:#}");
        ExitCode::FAILURE
    })
}

fn passed(check: Result<()>) -> Result<ExitCode> {
    check.map(|()| ExitCode::SUCCESS)
}
