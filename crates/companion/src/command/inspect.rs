//! Commands that inspect: `companion config`, `doctor`, `health`, `openapi` and `completions`.

use super::output::print;
use crate::{
    configuration::{Configuration, Effective, Layers, Loaded},
    doctor::{Status, examine},
    error::{ProgramError, failed},
    supervisor::probe,
};
use clap::{Command, Subcommand};
use clap_complete::Shell;
use serde_json::{Value, json};
use std::{iter, time::Duration};
use tokio::runtime::{Builder, Runtime};

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
pub(super) fn check(loaded: &Loaded) -> Result<(), ProgramError> {
    let warnings = loaded.warnings.iter().map(|warning| format!("Warning: {warning}\n"));
    print(&iter::once("The configuration is right.\n".to_owned()).chain(warnings).collect::<String>())
}

pub(super) fn show(loaded: &Loaded, json: bool) -> Result<(), ProgramError> {
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

pub(super) fn completions(mut command: Command, shell: Shell) -> Result<(), ProgramError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "companion", &mut script);
    print(&String::from_utf8_lossy(&script))
}

pub(super) fn openapi() -> Result<(), ProgramError> {
    let document = companion_management::openapi().to_pretty_json();
    let document = document.map_err(|error| failed(format_args!("the document cannot be written: {error}")));
    print(&(document? + "\n"))
}

/// Timeout of the readiness probe: longer than a healthy service takes, and shorter than the timeout of container
/// platforms.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) fn health(configuration: &Configuration) -> Result<(), ProgramError> {
    let address = configuration.management.listen.reachable();
    if address.port == 0 {
        return Err(failed("management.listen has port 0, so the address is unknown"));
    }
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    match runtime.block_on(probe(address.to_string(), "/health/ready", PROBE_TIMEOUT)) {
        Ok(true) => print("ready\n"),
        Ok(false) => Err(failed(format_args!("the service at {address} is not ready"))),
        Err(error) => Err(failed(format_args!("no service answers at {address}: {error}"))),
    }
}

/// Examines the installation, whether the service is running or not.
pub(super) fn doctor(layers: &Layers, json: bool) -> Result<(), ProgramError> {
    let runtime = Runtime::new().map_err(failed)?;
    let report = runtime.block_on(examine(layers))?;
    // A database server that does not answer still blocks its thread. Do not wait for it.
    runtime.shutdown_background();
    print(&if json { format!("{:#}\n", report.to_json()) } else { report.to_string() })?;
    match report.status() {
        Status::Failed => Err(failed("something is wrong; each line that failed says what to do")),
        Status::Ok | Status::Warning | Status::Skipped => Ok(()),
    }
}
