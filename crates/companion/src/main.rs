//! The `companion` command.

use std::process::ExitCode;

/// Returns free memory to the system. The allocator of the C library keeps it after a load peak.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    companion::command::run()
}
