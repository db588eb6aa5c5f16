//! The `companion` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    companion::command::run()
}
