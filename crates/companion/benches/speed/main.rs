//! Measures the service, compared with a minimal server that sends the same bytes.
//!
//! `cargo xtask bench` runs it. Every figure is a ratio to another figure of the same run: of a bare actix-web server
//! that sends the same bytes, or of a peer framework. Servers run on the first core and the load on the second, in
//! alternating rounds, so that other activity on the machine affects all of them.
#![expect(clippy::print_stdout, reason = "tables are what this program is for")]

mod arguments;
mod bare;
mod callgrind;
mod feed;
mod inserts;
mod load;
mod machine;
mod page;
mod peers;
mod platform;
mod sections;
mod server;
mod service;
mod table;
mod train;
mod world;

use arguments::{Arguments, Command};
use clap::Parser as _;

/// The allocator of the service, so that the bare server is as fast as it can be.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Measure(measure) => sections::run(&measure),
        Command::Train => train::run(),
        Command::Run { job } => job.run(),
    }
}
