//! `companion completions`.

use super::{CommandLine, Failure, print};
use clap::CommandFactory as _;
use clap_complete::Shell;

pub(super) fn run(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), "companion", &mut script);
    print(&String::from_utf8_lossy(&script))
}
