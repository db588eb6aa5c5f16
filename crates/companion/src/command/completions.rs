//! `companion completions`.

use super::{failure::Failure, output::print};
use clap::Command;
use clap_complete::Shell;

pub(super) fn run(mut command: Command, shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "companion", &mut script);
    print(&String::from_utf8_lossy(&script))
}
