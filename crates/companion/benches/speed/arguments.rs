//! The command line, for people and for our own processes.

use crate::{bare::Bare, feed::Changes, inserts::Inserts, load::Load, platform::Platform, sections};
use clap::{Args, Parser, Subcommand, builder::PossibleValuesParser};
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, process};

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

/// The work of one of our own processes, as JSON on its command line.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Job {
    Bare(Bare),
    Load(Load),
    Feed(Changes),
    Platform(Platform),
    Inserts(Inserts),
}

impl Job {
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Appends a process with this work to a command that runs or observes it.
    pub(crate) fn under(&self, mut command: process::Command) -> anyhow::Result<process::Command> {
        command.arg(std::env::current_exe()?).arg("run").arg(serde_json::to_string(self)?);
        Ok(command)
    }

    /// The process itself.
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match self {
            Self::Bare(bare) => bare.serve(),
            Self::Load(load) => load.run(),
            Self::Feed(changes) => changes.run(),
            Self::Platform(platform) => platform.serve(),
            Self::Inserts(inserts) => inserts.run(),
        }
    }
}
