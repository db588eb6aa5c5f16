//! The command line, for people and for our own processes.

use crate::{job::Job, sections};
use clap::{Args, Parser, Subcommand, builder::PossibleValuesParser};
use std::path::PathBuf;

#[derive(Parser)]
#[command(name = "speed")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Cargo passes this to every benchmark
    #[arg(long, global = true, hide = true)]
    bench: bool,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Print all tables, or the named ones
    Measure(Measure),
    /// Run the training load of profile-guided optimization
    Train,
    /// Be one of our own processes
    #[command(hide = true)]
    Run {
        #[arg(value_parser = Job::parse)]
        job: Job,
    },
}

#[derive(Args)]
pub(crate) struct Measure {
    #[arg(value_parser = PossibleValuesParser::new(sections::names()))]
    pub(crate) sections: Vec<String>,
    /// Run fewer and shorter rounds, with smaller worlds
    #[arg(long)]
    pub(crate) quick: bool,
    /// Write the tables and charts to the page in this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) page: Option<PathBuf>,
    /// Fail if instructions per request have grown by more than a tenth since this file was written
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
}
