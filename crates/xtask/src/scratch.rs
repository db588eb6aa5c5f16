//! The folder for the files of tests.

use std::path::{Path, PathBuf};

/// The variable that `tempfile` and the programs started by tests read.
pub const VARIABLE: &str = "TMPDIR";

const MEMORY_FOLDER: &str = "/dev/shm";
/// Free space that is required, in bytes. Four parallel tests, some with their own PostgreSQL server, need much less.
const REQUIRED_BYTES: u64 = 4 << 30;

/// Returns `/dev/shm` if it has room, else the system's default: no test checks durability against power failures, so
/// none needs to wait for a disk. `TMPDIR` overrides it.
#[must_use]
pub fn folder() -> PathBuf {
    let is_chosen = std::env::var_os(VARIABLE).is_some();
    if is_chosen || !has_room(Path::new(MEMORY_FOLDER)) { std::env::temp_dir() } else { MEMORY_FOLDER.into() }
}

fn has_room(folder: &Path) -> bool {
    rustix::fs::statvfs(folder)
        .is_ok_and(|system| system.f_bavail.saturating_mul(system.f_frsize) >= REQUIRED_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_does_not_exist_has_no_room() {
        assert!(!has_room(Path::new("/no/such/folder")));
    }
}
