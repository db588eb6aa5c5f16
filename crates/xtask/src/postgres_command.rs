//! A PostgreSQL server for a command, or for a person who has several to run.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, ExitStatus};
use std::thread;

use anyhow::{Context, Result};
use xtask::{
    postgres::{Cluster, VARIABLE},
    scratch,
};

use crate::invocation::hide_package;

/// Ends as the command ends; without a command, runs until it is interrupted.
pub(crate) fn run(durable: bool, command: &[String]) -> Result<ExitCode> {
    let cluster = if durable { Cluster::durable()? } else { Cluster::start()? };
    let url = cluster.url("postgres");
    println!("export {VARIABLE}={url}");
    let Some((program, arguments)) = command.split_first() else {
        eprintln!("The server runs until Ctrl-C.");
        // An interrupt ends this process on the spot, and the cluster's watchdog cleans up.
        loop {
            thread::park();
        }
    };
    let mut command = Command::new(program);
    hide_package(&mut command);
    let status =
        command.args(arguments).env(VARIABLE, url).env(scratch::VARIABLE, scratch::folder()).status();
    Ok(exit_code(status.with_context(|| format!("cannot start `{program}`"))?))
}

/// A command that a signal ended counts as in a shell.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_command_is_the_end_of_the_chore() {
        // As the system reports them: the code in the high byte, the signal in the low one.
        for (raw, code) in [(0, 0), (7 << 8, 7), (9, 137)] {
            let found = exit_code(ExitStatus::from_raw(raw));
            assert_eq!(format!("{found:?}"), format!("{:?}", ExitCode::from(code)));
        }
    }
}
