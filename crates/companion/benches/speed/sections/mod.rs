//! The measurements, one table each.

mod busy;
pub(crate) mod endpoints;
mod growth;
mod instructions;
mod latency;
mod log;
mod memory;
mod outage;
mod start;
mod writes;

use crate::{arguments::Measure, machine, page};
use clap::ValueEnum;

/// A table, by its name on the command line.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Section {
    /// Requests per second on every endpoint, beside the bare server and the peers
    Endpoints,
    /// Latency at half load
    Latency,
    /// Cost as a function of feedback, guilds and sessions
    Growth,
    /// Requests per second while the bot makes five hundred changes per second
    Busy,
    /// Instructions and allocations per request
    Instructions,
    /// Memory, idle and with many sessions
    Memory,
    /// Time until the service is ready
    Start,
    /// Requests per second while the database is unavailable
    Outage,
    /// Cost of logging every request
    Log,
    /// Sign-ins and a whole sync, beside bare inserts
    Writes,
}

/// The extent of the measurements.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) quick: bool,
    /// Number of turns of servers that are measured side by side.
    pub(crate) turns: usize,
    /// Number and length of other measurements.
    pub(crate) rounds: usize,
    pub(crate) seconds: f64,
}

/// The result of a section.
pub(crate) struct Report {
    pub(crate) title: &'static str,
    /// Tables in Markdown.
    pub(crate) text: String,
    pub(crate) chart: Option<page::Chart>,
}

impl Section {
    fn run(self, plan: &Plan, measure: &Measure) -> anyhow::Result<Report> {
        match self {
            Self::Endpoints => endpoints::run(plan),
            Self::Latency => latency::run(plan),
            Self::Growth => growth::run(plan),
            Self::Busy => busy::run(plan),
            Self::Instructions => {
                instructions::run(measure.baseline.as_deref().map(machine::in_repository).as_deref())
            }
            Self::Memory => memory::run(plan),
            Self::Start => start::run(plan),
            Self::Outage => outage::run(plan),
            Self::Log => log::run(plan),
            Self::Writes => writes::run(plan),
        }
    }
}

/// Prints the tables.
pub(crate) fn run(measure: &Measure) -> anyhow::Result<()> {
    let plan = if measure.quick {
        Plan { quick: true, turns: 9, rounds: 3, seconds: 1.0 }
    } else {
        Plan { quick: false, turns: 41, rounds: 5, seconds: 2.0 }
    };
    let all = Section::value_variants();
    let sections = if measure.sections.is_empty() { all } else { &measure.sections };
    for section in sections {
        let report = section.run(&plan, measure)?;
        println!("\n{}\n\n{}", report.title, report.text);
        if let (Some(folder), Some(name)) = (&measure.page, section.to_possible_value()) {
            page::put(&machine::in_repository(folder), name.get_name(), &report)?;
        }
    }
    Ok(())
}
