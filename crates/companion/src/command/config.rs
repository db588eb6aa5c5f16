//! `companion config`.

use super::{Failure, print};
use crate::configuration::{Effective, Loaded, Used, sample};
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(super) enum Look {
    /// Say whether the configuration is right, and all that is wrong with it
    Check,
    /// Print every value and where it comes from; secrets stay hidden
    Show,
    /// Print a commented configuration file with every default
    Sample,
}

pub(super) fn run(look: &Look, load: impl FnOnce() -> Result<Loaded, Failure>) -> Result<(), Failure> {
    match look {
        Look::Check => load().and_then(|_| print("The configuration is right.\n")),
        Look::Show => load().and_then(|loaded| print(&show(&loaded.effective))),
        Look::Sample => print(&sample()),
    }
}

/// A line for each key: the value, and behind it where it came from and whether it is used yet.
fn show(effective: &[Effective]) -> String {
    let values: Vec<_> =
        effective.iter().map(|known| format!("{} = {}", known.key.path, known.value)).collect();
    let width =
        values.iter().map(|value| value.chars().count()).filter(|width| *width <= 60).max().unwrap_or(0);
    let line = |(value, known): (&String, &Effective)| {
        let remark = if known.key.used == Used::NotYet { "; not used yet" } else { "" };
        format!("{value:width$}  # {}{remark}\n", known.source)
    };
    values.iter().zip(effective).map(line).collect()
}
