//! The command line. Each command has its own file; this one defines the arguments and dispatches.

mod demo;
mod foreground;
mod import;
mod inspect;
mod output;
mod reseal;
mod serve;
mod sessions;
mod stored;
mod why;

use self::{inspect::ConfigCommand, output::print};
use crate::{
    configuration::{self, Layers},
    error::ProgramError,
};
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use companion_domain::model::{GuildId, UserId};
use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
};

/// Version, branch and commit, as `--version` prints them.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (branch ",
    env!("COMPANION_BUILD_BRANCH"),
    ", commit ",
    env!("COMPANION_BUILD_SHA"),
    ")"
);

/// The arguments of the program.
#[derive(Debug, Parser)]
#[command(
    name = "companion",
    version = VERSION,
    about = "Signs a chat platform's users in, lists the guilds they run, and shows what a bot reports.",
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage or configuration."
)]
struct CommandLine {
    /// Read this configuration file, which must exist [default: companion.toml, if it exists]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a complete demo with sample data; needs no setup
    #[command(after_help = "Examples:\n  companion demo\n  companion demo --port 9000")]
    Demo {
        /// Base port: public API, management API, dashboard and identity provider listen on consecutive ports; 0 picks
        /// free ones
        #[arg(long, value_parser = clap::value_parser!(u16).range(..=i64::from(demo::LAST_PORT)))]
        port: Option<u16>,
    },
    /// Serve the public and the management API
    #[command(
        after_help = "Examples:\n  companion serve\n  COMPANION_STORAGE__URL=sqlite:/var/lib/companion/companion.db \
                            companion serve --config /etc/companion.toml"
    )]
    Serve {
        #[command(flatten)]
        creation: Creation,
    },
    /// Bring the database schema up to date; `serve` does it too
    #[command(after_help = "Examples:\n  companion migrate")]
    Migrate {
        #[command(flatten)]
        creation: Creation,
    },
    /// Import a file of records, as `export` or the bot's sync writes them
    #[command(
        after_help = "Examples:\n  companion import everything.ndjson --dry-run\n  companion import everything.ndjson\n  \
                            gunzip -c everything.ndjson.gz | companion import -"
    )]
    Import {
        /// The file, or - for standard input
        file: PathBuf,
        /// Print the changes without applying them
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        creation: Creation,
    },
    /// Write all stored records to standard output, one per line
    #[command(after_help = "Examples:\n  companion export > everything.ndjson\n  \
                            companion export | grep '\"kind\":\"guild\"' | wc -l")]
    Export,
    /// Copy the SQLite database to a new file while it is in use
    #[command(after_help = "Examples:\n  companion backup /backups/companion-$(date +%F).db")]
    Backup {
        /// The file, which must not exist
        file: PathBuf,
    },
    /// Seal all platform tokens with the first key of secrets.key, so that the others can be removed
    #[command(after_help = "Examples:\n  companion reseal")]
    Reseal,
    /// List and end sessions
    #[command(
        subcommand,
        after_help = "Examples:\n  companion sessions list\n  companion sessions revoke-all --yes"
    )]
    Sessions(sessions::SessionsCommand),
    /// Explain what a user sees of a guild: whether it is listed, the role, and the source of each permission
    #[command(after_help = "Examples:\n  companion why 190000000000000007 190000000000000500")]
    Why {
        /// The user's id on the platform
        user: UserId,
        /// The guild's id on the platform
        guild: GuildId,
    },
    /// Check and print the configuration
    #[command(
        subcommand,
        after_help = "Examples:\n  companion config check\n  companion config sample > companion.toml"
    )]
    Config(ConfigCommand),
    /// Check the whole installation and suggest a fix for each problem; changes nothing
    #[command(after_help = "Examples:\n  companion doctor\n  companion doctor --json | jq '.checks[] | \
                            select(.status == \"failed\")'\n\nExit codes: 0 also with warnings, 1 if a line failed.")]
    Doctor {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Print the OpenAPI document of both APIs
    #[command(after_help = "Examples:\n  companion openapi > openapi.json")]
    Openapi,
    /// Ask the running service whether it is ready, for container health checks
    #[command(after_help = "Examples:\n  companion health || echo not ready")]
    Health,
    /// Print completions for a shell
    #[command(after_help = "Examples:\n  companion completions bash > /etc/bash_completion.d/companion")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Arguments shared by commands that create a database.
#[derive(Debug, Args)]
struct Creation {
    /// Create a missing SQLite database even if the key file of an earlier one exists beside it
    #[arg(long)]
    create: bool,
}

/// Runs the command that the arguments name, and returns the exit code.
#[must_use]
pub fn run() -> ExitCode {
    // Usage errors exit here, with a message and code 2.
    let CommandLine { config, command } = CommandLine::parse();
    match execute(command, &Layers::of_process(config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "companion: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn execute(command: Command, layers: &Layers) -> Result<(), ProgramError> {
    let load = || configuration::load(layers).map(|loaded| loaded.configuration);
    match command {
        Command::Demo { port } => demo::run(&load()?, port),
        Command::Serve { creation } => serve::run(&configuration::load_for_serving(layers)?, creation.create),
        Command::Migrate { creation } => stored::migrate(&load()?, creation.create),
        Command::Import { file, dry_run, creation } => import::run(&load()?, &file, creation.create, dry_run),
        Command::Export => stored::export(&load()?),
        Command::Backup { file } => stored::backup(&load()?, &file),
        Command::Reseal => reseal::run(&load()?),
        Command::Sessions(command) => sessions::run(&load()?, &command),
        Command::Why { user, guild } => why::run(&load()?, user, guild),
        Command::Config(ConfigCommand::Check) => inspect::check(&configuration::load_for_serving(layers)?),
        Command::Config(ConfigCommand::Show { json }) => inspect::show(&configuration::load(layers)?, json),
        Command::Config(ConfigCommand::Schema) => print(&format!("{:#}\n", configuration::schema())),
        Command::Config(ConfigCommand::Sample) => print(&configuration::sample()),
        Command::Doctor { json } => inspect::doctor(layers, json),
        Command::Openapi => inspect::openapi(),
        Command::Health => inspect::health(&load()?),
        Command::Completions { shell } => inspect::completions(CommandLine::command(), shell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::error::ErrorKind;
    use std::{fs, iter, path::Path};

    fn assert_examples(command: &clap::Command, path: &str) {
        for command in command.get_subcommands() {
            let path = format!("{path} {}", command.get_name());
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let (_, examples) = help.split_once("Examples:\n").unwrap_or_default();
            assert!(examples.contains(&path), "the help of {path} has no example");
            assert_examples(command, &path);
        }
    }

    #[test]
    fn every_command_is_well_formed_and_has_an_example() {
        CommandLine::command().debug_assert();
        assert_examples(&CommandLine::command(), "companion");
    }

    #[test]
    fn wrong_usage_exits_with_2() {
        for line in ["companion", "companion sevre", "companion serve now", "companion config"] {
            let error = CommandLine::try_parse_from(line.split(' ')).unwrap_err();
            assert!(error.exit_code() == 2 && error.use_stderr(), "{line}");
        }
    }

    /// Returns the words after each `companion` of the documentation, up to the first that is no command or option.
    fn documented() -> Vec<Vec<String>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let pages = root.join("docs").read_dir().unwrap().map(|entry| entry.unwrap().path());
        let pages = pages.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
        let plain = |word: &&str| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        let mut commands = Vec::new();
        for page in pages.chain([root.join("README.md")]) {
            let text = fs::read_to_string(page).unwrap();
            let pieces = text.split(['`', '\n', '|', '>', '&']);
            let pieces = pieces.filter_map(|piece| piece.trim_start().rsplit_once("companion "));
            let words = pieces.map(|(_, piece)| piece.split_whitespace().take_while(plain));
            commands.extend(words.map(|words| words.map(str::to_owned).collect()));
        }
        commands
    }

    #[test]
    fn every_documented_command_exists() {
        let (line, documented) = (CommandLine::command(), documented());
        let is_ours =
            |words: &&Vec<String>| words.first().is_some_and(|word| line.find_subcommand(word).is_some());
        let ours: Vec<_> = documented.iter().filter(is_ours).collect();
        assert!(ours.len() >= 11, "{documented:?}");
        for words in ours {
            // The last word may be an option whose value is left out here.
            let exists = |value: &[&str]| {
                let words = words.iter().map(String::as_str).chain(value.iter().copied());
                let parsed =
                    CommandLine::try_parse_from(iter::once("companion").chain(words).chain(["--help"]));
                parsed.is_err_and(|error| error.kind() == ErrorKind::DisplayHelp)
            };
            assert!(exists(&[]) || exists(&["1"]), "{words:?}");
        }
    }
}
