//! Cleans up after a cluster, also when the process that started it is killed.

use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context, Result};

use super::account::Account;
use super::programs::Programs;

/// Nothing is ever written to its input: it ends when that is closed, which the system does for the dead too.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
read -r nothing
"$1" -D "$2" -m immediate -w stop
rm -rf "$3"
"#;

/// A shell that waits for the end of this process, then stops the server and removes the folder.
#[derive(Debug)]
pub(super) struct Watchdog(Child);

impl Watchdog {
    pub(super) fn watch(
        programs: &Programs,
        account: Option<&Account>,
        folder: &Path,
        data: &Path,
    ) -> Result<Self> {
        let mut shell = programs.environment("sh", folder);
        shell.args(["-c", SCRIPT, "watchdog"]).arg(programs.path("pg_ctl")).arg(data).arg(folder);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Of its own, since Ctrl-C and a test runner's kill reach the whole group of a process.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        if let Some(account) = account {
            account.runs(&mut shell);
        }
        let started = shell.spawn().with_context(|| {
            format!(
                "cannot start a shell in {}, which the user who runs PostgreSQL must be able to enter; \
                 TMPDIR chooses another folder",
                folder.display()
            )
        });
        Ok(Self(started?))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // There is nobody to tell; what is left of the folder is removed after this.
        let _ = self.0.wait();
    }
}
