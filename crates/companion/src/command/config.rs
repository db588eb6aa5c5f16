//! Commands that print static information: `companion config`, `openapi` and `completions`.

use super::{
    error::{CommandError, failed},
    output::print,
};
use crate::configuration::{Effective, Loaded};
use clap::{Command, Subcommand};
use clap_complete::Shell;
use serde_json::{Value, json};
use std::iter;

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Check the configuration and report every error
    #[command(
        after_help = "Examples:\n  companion config check\n  companion config check --config /etc/companion.toml"
    )]
    Check,
    /// Print every value and its source; secrets stay hidden
    #[command(after_help = "Examples:\n  companion config show\n  companion config show --json")]
    Show {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Print a commented configuration file with every default
    #[command(after_help = "Examples:\n  companion config sample > companion.toml")]
    Sample,
    /// Print the JSON Schema of the configuration file, for editors
    #[command(after_help = "Examples:\n  companion config schema > companion.schema.json")]
    Schema,
}

/// Prints the warnings of a configuration that loaded without errors.
pub(super) fn check(loaded: &Loaded) -> Result<(), CommandError> {
    let warnings = loaded.warnings.iter().map(|warning| format!("Warning: {warning}\n"));
    print(&iter::once("The configuration is right.\n".to_owned()).chain(warnings).collect::<String>())
}

pub(super) fn show(loaded: &Loaded, json: bool) -> Result<(), CommandError> {
    print(&if json { document(&loaded.effective) } else { table(&loaded.effective) })
}

/// Renders the content of the table as JSON, with values in TOML syntax.
fn document(effective: &[Effective]) -> String {
    let known = |known: &Effective| {
        json!({
            "key": known.key.path, "value": known.value, "source": known.source.to_string(),
            "secret": known.key.secret,
        })
    };
    format!("{:#}\n", Value::from(effective.iter().map(known).collect::<Vec<_>>()))
}

/// Renders one line per key: the value, then its source as a comment.
fn table(effective: &[Effective]) -> String {
    let values: Vec<_> =
        effective.iter().map(|known| format!("{} = {}", known.key.path, known.value)).collect();
    let width =
        values.iter().map(|value| value.chars().count()).filter(|width| *width <= 60).max().unwrap_or(0);
    let line = |(value, known): (&String, &Effective)| format!("{value:width$}  # {}\n", known.source);
    values.iter().zip(effective).map(line).collect()
}

pub(super) fn completions(mut command: Command, shell: Shell) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "companion", &mut script);
    print(&String::from_utf8_lossy(&script))
}

pub(super) fn openapi() -> Result<(), CommandError> {
    let document = companion_management::openapi().to_pretty_json();
    let document = document.map_err(|error| failed(format_args!("the document cannot be written: {error}")));
    print(&(document? + "\n"))
}
