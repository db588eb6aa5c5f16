//! The repository's development tasks, run as `cargo xtask COMMAND`.
//!
//! This crate depends on no other crate of the workspace, so that its checks run even if those do not compile. Its
//! library is for the tests of other crates.
//! To add a task: a variant of [`Command`], and a module. To add a step to the test command: an entry in
//! `test_command::tests` or `test_command::checks`, and a [`requirement::Requirement`] if it needs a tool.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool prints to the terminal")]

mod architecture;
mod deep;
mod dist;
mod invocation;
mod kits;
mod requirement;
mod steps;
mod test_command;

use std::os::unix::process::ExitStatusExt as _;
use std::process::{self, ExitStatus};
use std::thread;

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};
use xtask::postgres::{Cluster, VARIABLE};

use crate::kits::Language;
use crate::requirement::WhenMissing;

/// Development tasks of the repository.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_version_flag = true,
    arg_required_else_help = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Install missing tools instead of skipping; CI=true installs whatever would be skipped
    #[arg(long, global = true)]
    install: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run all tests that the machine has the tools for, and list what was skipped
    ///
    /// With CI=true the checks run first, and nothing is skipped. The tests get their own PostgreSQL server, or use the
    /// one whose URL is in COMPANION_TEST_POSTGRES.
    Test {
        /// Arguments of the test runner, such as a filter
        #[arg(last = true)]
        runner_arguments: Vec<String>,
    },
    /// Check formatting, architecture, licences, alerts, clippy and documentation
    Check,
    /// Build the published program: fat LTO, one codegen unit, profile-guided, stripped; in target/dist
    ///
    /// It is built twice: first instrumented for a training run, then with the profile data of that run.
    Dist {
        /// Arguments of cargo build, such as a target
        #[arg(last = true)]
        build_arguments: Vec<String>,
    },
    /// Check dependencies between crates, the direction of imports, and the layout of the repository
    Architecture,
    /// Test the kits for bots and websites with their libraries; all languages if none is named
    Kits {
        #[arg(value_enum)]
        languages: Vec<Language>,
    },
    /// Run slow checks in their full form; all of them if none is named
    Deep {
        #[arg(value_parser = PossibleValuesParser::new(deep::names()))]
        checks: Vec<String>,
    },
    /// Measure the service beside a bare server and beside peers; all tables if none is named
    ///
    /// Servers run on the first core and the load on the second. With both builds it takes about an hour, and the
    /// machine must be idle otherwise.
    Bench {
        /// Tables: endpoints, latency, growth, busy, instructions, memory, start, outage, log, writes
        tables: Vec<String>,
        /// Run fewer and shorter rounds, with smaller worlds
        #[arg(long)]
        quick: bool,
        /// Write the results to docs/performance.md
        #[arg(long)]
        write: bool,
    },
    /// Start a temporary PostgreSQL server; without a command it runs until Ctrl-C
    Postgres {
        /// Sync every commit to the disk
        #[arg(long)]
        durable: bool,
        /// The command to run, with the server's URL in COMPANION_TEST_POSTGRES
        #[arg(last = true)]
        command: Vec<String>,
    },
}

fn main() -> Result<()> {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    let Arguments { command, install } = Arguments::parse();
    let missing = match (install, in_ci) {
        (true, _) => WhenMissing::InstallEverything,
        (false, true) => WhenMissing::InstallWhatWouldBeSkipped,
        (false, false) => WhenMissing::Report,
    };
    match command {
        Command::Test { runner_arguments } => test_command::test(missing, in_ci, &runner_arguments),
        Command::Check => test_command::check(missing),
        Command::Dist { build_arguments } => dist::run(missing, &build_arguments),
        Command::Architecture => architecture::run(),
        Command::Kits { languages } => kits::run(&languages),
        Command::Deep { checks } => deep::run(missing, &checks),
        Command::Bench { tables, quick, write } => dist::bench(missing, tables, quick, write),
        Command::Postgres { durable, command } => process::exit(beside_postgres(durable, &command)?),
    }
}

/// Runs a command beside a PostgreSQL server, and returns its exit code. Without a command, runs until it is interrupted.
fn beside_postgres(durable: bool, command: &[String]) -> Result<i32> {
    let cluster = if durable { Cluster::durable()? } else { Cluster::start()? };
    println!("export {VARIABLE}={}", cluster.url("postgres"));
    let Some((program, arguments)) = command.split_first() else {
        eprintln!("The server runs until Ctrl-C.");
        // SIGINT ends this process at once, and the cluster's watchdog cleans up.
        loop {
            thread::park();
        }
    };
    let mut command = process::Command::new(program);
    invocation::hide_package(&mut command);
    command.args(arguments).envs(cluster.environment()).env(xtask::TMPDIR, xtask::scratch_folder());
    Ok(exit_code(command.status().with_context(|| format!("cannot start `{program}`"))?))
}

/// Maps an end by a signal to the exit code that a shell uses.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
        let parsed = |line: &str| Arguments::try_parse_from(line.split(' '));
        assert!(parsed("xtask test --install -- policy").unwrap().install);
        assert!(parsed("xtask").unwrap_err().to_string().contains("Usage: cargo xtask"));
        assert!(parsed("xtask deep sleep").is_err());
    }

    #[test]
    fn returns_the_exit_code_of_the_command() {
        // Raw wait statuses: the code in the high byte, the signal in the low one.
        for (raw, code) in [(0, 0), (7 << 8, 7), (9, 137)] {
            assert_eq!(exit_code(ExitStatus::from_raw(raw)), code);
        }
    }
}
