//! The measurements, one table each.

mod conditions;
pub(crate) mod endpoints;
mod growth;
mod instructions;
mod latency;
mod resources;
mod writes;

use crate::{
    arguments::Measure,
    machine,
    page::{self, Chart},
    table::Table,
};
use std::path::PathBuf;

type Section = fn(&Plan) -> anyhow::Result<Report>;

/// The tables: the name of each on the command line, its title, and what measures it.
const SECTIONS: [(&str, &str, Section); 10] = [
    ("endpoints", "Every endpoint", endpoints::run),
    ("latency", "At half load", latency::run),
    ("growth", "As the world grows", growth::run),
    ("busy", "While the bot is busy", conditions::busy),
    ("instructions", "Instructions per request", instructions::run),
    ("memory", "Memory", resources::memory),
    ("start", "Start", resources::start),
    ("outage", "Without a database", conditions::outage),
    ("log", "The access log", conditions::log),
    ("writes", "Sign-ins and syncs", writes::run),
];

/// Returns the names of all tables, for the command line.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    SECTIONS.iter().map(|(name, ..)| *name)
}

/// The extent of the measurements.
pub(crate) struct Plan {
    pub(crate) quick: bool,
    /// Number of turns of servers that are measured side by side.
    pub(crate) turns: usize,
    /// Number and length of other measurements.
    pub(crate) rounds: usize,
    pub(crate) seconds: f64,
    /// The earlier instructions per request.
    pub(crate) baseline: Option<PathBuf>,
}

/// The result of a section.
pub(crate) struct Report {
    /// Tables in Markdown.
    pub(crate) text: String,
    pub(crate) chart: Option<Chart>,
}

impl From<Table> for Report {
    fn from(table: Table) -> Self {
        Self { text: table.to_string(), chart: None }
    }
}

/// Prints the tables.
pub(crate) fn run(measure: &Measure) -> anyhow::Result<()> {
    let baseline = measure.baseline.as_deref().map(machine::in_repository);
    let plan = if measure.quick {
        Plan { quick: true, turns: 9, rounds: 3, seconds: 1.0, baseline }
    } else {
        Plan { quick: false, turns: 41, rounds: 5, seconds: 2.0, baseline }
    };
    for (name, title, section) in SECTIONS {
        if !measure.sections.is_empty() && !measure.sections.iter().any(|chosen| chosen == name) {
            continue;
        }
        let report = section(&plan)?;
        println!("\n{title}\n\n{}", report.text);
        if let Some(folder) = &measure.page {
            page::put(&machine::in_repository(folder), name, &report)?;
        }
    }
    Ok(())
}
