//! The command line, for people and for our own processes.

use crate::{bare::Bare, feed::Changes, inserts::Inserts, load::Load, platform::Platform, sections::Section};
use clap::{Args, Parser, Subcommand};
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
    /// Run a bare server
    #[command(hide = true)]
    Bare(Bare),
    /// Generate load for a server
    #[command(hide = true)]
    Load(Load),
    /// Run a bot that reports changes
    #[command(hide = true)]
    Feed(Changes),
    /// Run a platform that answers at once
    #[command(hide = true)]
    Platform(Platform),
    /// Run bare inserts
    #[command(hide = true)]
    Inserts(Inserts),
}

#[derive(Args)]
pub(crate) struct Measure {
    #[arg(value_enum)]
    pub(crate) sections: Vec<Section>,
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
