//! What the person asked for.

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};

use crate::deep;
use crate::kits::Language;
use crate::requirement::WhenMissing;

/// The repository's chores.
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

#[derive(Debug, PartialEq, Subcommand)]
pub(crate) enum Command {
    /// All tests: runs what the machine has the tools for, and ends with what was skipped
    ///
    /// With CI=true the checks run first, and nothing is skipped. The tests get a PostgreSQL server of their own, or use the one whose URL is in COMPANION_TEST_POSTGRES.
    Test {
        #[command(flatten)]
        install: Install,
        /// Goes to the test runner, a filter for instance
        #[arg(last = true)]
        runner_arguments: Vec<String>,
    },
    /// Formatting, architecture, licences, alerts, clippy and documentation
    Check {
        #[command(flatten)]
        install: Install,
    },
    /// The program as it is published: fat LTO, one codegen unit, stripped; in target/dist
    Dist {
        /// Goes to cargo build, a target for instance
        #[arg(last = true)]
        build_arguments: Vec<String>,
    },
    /// Which crate may use which, that imports run one way, and what may lie at the top of the repository
    Architecture,
    /// The kits for bots and websites, with the libraries that they are for; in all languages when none is named
    Kits {
        #[arg(value_enum)]
        languages: Vec<Language>,
    },
    /// Slow checks of the tests themselves, with their figures; all of them when none is named
    Deep {
        #[arg(value_parser = PossibleValuesParser::new(deep::names()))]
        checks: Vec<String>,
        #[command(flatten)]
        install: Install,
    },
    /// How fast the service is, beside a bare server and beside peers; all tables when none is named
    ///
    /// Servers run on the first core and the load on the second. It takes about half an hour, and nothing else should run
    /// meanwhile.
    Bench {
        /// Tables: endpoints, latency, growth, busy, instructions, memory, start, outage, log
        tables: Vec<String>,
        /// Fewer and shorter rounds, smaller worlds
        #[arg(long)]
        quick: bool,
        /// Puts the results into docs/performance.md
        #[arg(long)]
        write: bool,
        #[command(flatten)]
        install: Install,
    },
    /// What a newcomer waits for: both first commands in a fresh clone, and CI; about half an hour
    BuildTimes,
    /// A PostgreSQL server that is thrown away afterwards; without a command it runs until Ctrl-C
    Postgres {
        /// Sync every commit to the disk
        #[arg(long)]
        durable: bool,
        /// Finds the server's URL in COMPANION_TEST_POSTGRES
        #[arg(last = true)]
        command: Vec<String>,
    },
}

#[derive(Debug, PartialEq, Args)]
pub(crate) struct Install {
    /// Install what is missing instead of skipping it; CI=true installs whatever would be skipped
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

    fn parsed(line: &str) -> Result<Command, clap::Error> {
        let words = std::iter::once("cargo xtask").chain(line.split_whitespace());
        Arguments::try_parse_from(words).map(|arguments| arguments.command)
    }

    #[test]
    fn no_arguments_and_help_show_the_help() {
        for line in ["", "help", "--help", "test --help"] {
            let shown = parsed(line).unwrap_err().to_string();
            assert!(shown.contains("Usage: cargo xtask"), "{line}: {shown}");
        }
    }

    #[test]
    fn arguments_reach_their_command() {
        const NOT: Install = Install { install: false };
        let strings = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        let runner_arguments = strings(&["policy", "--no-fail-fast"]);
        let build_arguments = strings(&["--features", "postgres-tls"]);
        let command = strings(&["cargo", "test", "--", "--nocapture"]);
        let tables = strings(&["busy", "start"]);
        let checks = strings(&["mutants", "kills"]);
        for (line, expected) in [
            ("test -- policy --no-fail-fast", Command::Test { install: NOT, runner_arguments }),
            ("dist -- --features postgres-tls", Command::Dist { build_arguments }),
            ("deep", Command::Deep { checks: vec![], install: NOT }),
            ("deep mutants kills", Command::Deep { checks, install: NOT }),
            ("bench", Command::Bench { tables: vec![], quick: false, write: false, install: NOT }),
            (
                "bench busy start --quick --write",
                Command::Bench { tables, quick: true, write: true, install: NOT },
            ),
            ("postgres --durable -- cargo test -- --nocapture", Command::Postgres { durable: true, command }),
            ("postgres", Command::Postgres { durable: false, command: vec![] }),
        ] {
            assert_eq!(parsed(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn ci_installs_what_would_be_skipped_and_the_flag_everything() {
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
    fn what_is_not_understood_is_refused() {
        for line in [
            "tset",
            "test fast",
            "test --fast",
            "check fast",
            "dist --features x",
            "architecture --install",
            "deep sleep",
            "deep -- x",
            "bench --slow",
            "postgres cargo test",
            "postgres --install",
            "test --durable",
            "help --all",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
