//! `companion config`.

use super::{failure::Failure, output::print};
use crate::configuration::{self, Effective, Loaded};
use clap::Subcommand;
use std::iter;

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Say whether the configuration is right, and all that is wrong with it
    Check,
    /// Print every value and where it comes from; secrets stay hidden
    Show,
    /// Print a commented configuration file with every default
    Sample,
}

/// Whoever gets here has a configuration that `serve` accepts.
pub(super) fn check(loaded: &Loaded) -> Result<(), Failure> {
    let warnings = loaded.unread.iter().map(|variable| format!("Warning: {variable}\n"));
    print(&iter::once("The configuration is right.\n".to_owned()).chain(warnings).collect::<String>())
}

pub(super) fn show(loaded: &Loaded) -> Result<(), Failure> {
    print(&table(&loaded.effective))
}

pub(super) fn sample() -> Result<(), Failure> {
    print(&configuration::sample())
}

/// A line for each key: the value, and behind it where it came from.
fn table(effective: &[Effective]) -> String {
    let values: Vec<_> =
        effective.iter().map(|known| format!("{} = {}", known.key.path, known.value)).collect();
    let width =
        values.iter().map(|value| value.chars().count()).filter(|width| *width <= 60).max().unwrap_or(0);
    let line = |(value, known): (&String, &Effective)| format!("{value:width$}  # {}\n", known.source);
    values.iter().zip(effective).map(line).collect()
}
