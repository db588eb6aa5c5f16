//! The command line.

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};

use crate::deep;
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
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run all tests that the machine has the tools for, and list what was skipped
    ///
    /// With CI=true the checks run first, and nothing is skipped. The tests get their own PostgreSQL server, or use the
    /// one whose URL is in COMPANION_TEST_POSTGRES.
    Test {
        #[command(flatten)]
        install: Install,
        /// Arguments of the test runner, such as a filter
        #[arg(last = true)]
        runner_arguments: Vec<String>,
    },
    /// Check formatting, architecture, licences, alerts, clippy and documentation
    Check {
        #[command(flatten)]
        install: Install,
    },
    /// Build the published program: fat LTO, one codegen unit, profile-guided, stripped; in target/dist
    ///
    /// It is built twice: first instrumented for a training run, then with the profile data of that run.
    Dist {
        #[command(flatten)]
        install: Install,
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
        #[command(flatten)]
        install: Install,
    },
    /// Measure the service beside a bare server and beside peers; all tables if none is named
    ///
    /// Servers run on the first core and the load on the second. With both builds it takes about an hour, and the
    /// machine must be idle otherwise.
    Bench {
        /// Tables: endpoints, latency, growth, busy, instructions, memory, start, outage, log
        tables: Vec<String>,
        /// Run fewer and shorter rounds, with smaller worlds
        #[arg(long)]
        quick: bool,
        /// Write the results to docs/performance.md
        #[arg(long)]
        write: bool,
        #[command(flatten)]
        install: Install,
    },
    /// Measure the first commands of a newcomer in a fresh clone, and CI; takes about half an hour
    BuildTimes,
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

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// Install missing tools instead of skipping; CI=true installs whatever would be skipped
    #[arg(long)]
    install: bool,
}

impl Install {
    pub(crate) fn when_missing(&self, in_ci: bool) -> WhenMissing {
        match (self.install, in_ci) {
            (true, _) => WhenMissing::InstallEverything,
            (false, true) => WhenMissing::InstallWhatWouldBeSkipped,
            (false, false) => WhenMissing::Report,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn parsed(line: &str) -> Result<Command, clap::Error> {
        let words = std::iter::once("cargo xtask").chain(line.split_whitespace());
        Arguments::try_parse_from(words).map(|arguments| arguments.command)
    }

    #[test]
    fn ci_installs_what_would_be_skipped_and_the_flag_installs_all() {
        for (line, in_ci, missing) in [
            ("test", false, WhenMissing::Report),
            ("test", true, WhenMissing::InstallWhatWouldBeSkipped),
            ("test --install", true, WhenMissing::InstallEverything),
        ] {
            let Command::Test { install, .. } = parsed(line).unwrap() else { panic!("{line}") };
            assert_eq!(install.when_missing(in_ci), missing, "{line}");
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
        let shown = parsed("").unwrap_err().to_string();
        assert!(shown.contains("Usage: cargo xtask"), "{shown}");
        assert!(parsed("deep sleep").is_err());
    }
}
