//! Runs a PostgreSQL server for one command, or until it is interrupted.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, ExitStatus};
use std::thread;

use anyhow::{Context, Result};
use xtask::{
    postgres::{Cluster, VARIABLE},
    scratch,
};

use crate::invocation::hide_package;

/// Returns the exit code of the command. Without a command, runs until it is interrupted.
pub(crate) fn run(durable: bool, command: &[String]) -> Result<ExitCode> {
    let cluster = if durable { Cluster::durable()? } else { Cluster::start()? };
    println!("export {VARIABLE}={}", cluster.url("postgres"));
    let Some((program, arguments)) = command.split_first() else {
        eprintln!("The server runs until Ctrl-C.");
        // SIGINT ends this process at once, and the cluster's watchdog cleans up.
        loop {
            thread::park();
        }
    };
    let mut command = Command::new(program);
    hide_package(&mut command);
    let status = command
        .args(arguments)
        .envs(cluster.environment())
        .env(scratch::VARIABLE, scratch::folder())
        .status();
    Ok(exit_code(status.with_context(|| format!("cannot start `{program}`"))?))
}

/// Maps an end by a signal to the exit code that a shell uses.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_the_exit_code_of_the_command() {
        // Raw wait statuses: the code in the high byte, the signal in the low one.
        for (raw, code) in [(0, 0), (7 << 8, 7), (9, 137)] {
            let found = exit_code(ExitStatus::from_raw(raw));
            assert_eq!(format!("{found:?}"), format!("{:?}", ExitCode::from(code)));
        }
    }
}
