//! The `companion` command.

use std::process::ExitCode;

/// Gives memory that is free back to the system, which that of the C library keeps after a rush.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    companion::command::run()
}
