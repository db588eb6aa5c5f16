//! What the person asked for, or one of our own processes.

use crate::{bare::Bare, feed::Changes, load::Load, sections::Section};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

#[derive(Parser)]
#[command(name = "speed")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Cargo says this to every benchmark
    #[arg(long, global = true, hide = true)]
    bench: bool,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Print tables: all, or those that are named
    Measure(Measure),
    /// A bare server
    #[command(hide = true)]
    Bare(Bare),
    /// Load for a server
    #[command(hide = true)]
    Load(Load),
    /// A bot that tells of changes
    #[command(hide = true)]
    Feed(Changes),
}

#[derive(Args)]
pub(crate) struct Measure {
    #[arg(value_enum)]
    pub(crate) sections: Vec<Section>,
    /// Fewer and shorter rounds, smaller worlds
    #[arg(long)]
    pub(crate) quick: bool,
    /// Puts the tables and charts into the page in this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) page: Option<PathBuf>,
    /// Fails where instructions per request have grown by more than a tenth since they were written to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
}
