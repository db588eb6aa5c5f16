//! The programs of a PostgreSQL server, the account that runs them, and the watchdog that ends them.

use anyhow::{Context, Result};
use std::{
    cmp::Reverse,
    env,
    net::{Ipv4Addr, TcpListener},
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU16, Ordering},
};

pub(super) const MISSING: &str = "PostgreSQL's server programs (initdb, pg_ctl, postgres) were not found. \
    Install them, with `apt-get install postgresql` or `brew install postgresql` for instance, \
    or put their folder into PATH.";

const REQUIRED_PROGRAMS: [&str; 3] = ["initdb", "pg_ctl", "postgres"];

/// Folders and name prefixes of installations. The rest of the name is the version; the newest wins.
const INSTALLATIONS: [(&str, &str); 6] = [
    ("/usr/lib/postgresql", ""),
    ("/usr", "pgsql-"),
    ("/opt/homebrew/opt", "postgresql@"),
    ("/usr/local/opt", "postgresql@"),
    ("/home/linuxbrew/.linuxbrew/opt", "postgresql@"),
    ("/Applications/Postgres.app/Contents/Versions", ""),
];

/// A folder with all programs, so that they are of one version.
#[derive(Debug, PartialEq)]
pub(super) struct Programs(PathBuf);

impl Programs {
    pub(super) fn find() -> Option<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        let installed = INSTALLATIONS.iter().flat_map(|(parent, name)| versions(Path::new(parent), name));
        Self::among(env::split_paths(&path).chain(folder_of_pg_config()).chain(installed))
    }

    pub(super) fn among(folders: impl IntoIterator<Item = PathBuf>) -> Option<Self> {
        let complete =
            |folder: &PathBuf| REQUIRED_PROGRAMS.iter().all(|program| folder.join(program).is_file());
        let server = folders.into_iter().find(complete)?.join("postgres");
        // A folder on the path may contain links to only some programs of an installation.
        server.canonicalize().ok()?.parent().map(|folder| Self(folder.to_owned()))
    }

    pub(super) fn path(&self, program: &str) -> PathBuf {
        self.0.join(program)
    }

    pub(super) fn command(&self, program: &str, folder: &Path) -> Command {
        self.environment(self.path(program), folder)
    }

    /// Creates a command with English messages, without settings from this process, in a folder that it may access.
    pub(super) fn environment(&self, program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(folder).env("LC_ALL", "C");
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
            command.env_remove(name);
        }
        command
    }
}

fn folder_of_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    String::from_utf8(output.stdout).ok().map(|folder| PathBuf::from(folder.trim()))
}

/// Returns the program folders of the installations in `parent`, newest first.
fn versions(parent: &Path, name: &str) -> Vec<PathBuf> {
    let entries = parent.read_dir().into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<(Vec<u32>, PathBuf)> = entries
        .filter_map(|entry| {
            let entry_name = entry.file_name();
            let version = entry_name.to_str()?.strip_prefix(name)?;
            let numbers = version.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
            Some((numbers, entry.path().join("bin")))
        })
        .collect();
    found.sort_by_key(|(version, _)| Reverse(version.clone()));
    found.into_iter().map(|(_, folder)| folder).collect()
}

/// The user that PostgreSQL's package creates, then the one that every system has.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

/// The account that runs the server in place of root, which PostgreSQL refuses.
#[derive(Debug)]
pub(super) struct Account {
    user: u32,
    group: u32,
}

impl Account {
    /// Returns `None` if this process is not root; otherwise the account, which then owns the folder.
    pub(super) fn instead_of_root(folder: &Path) -> Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let account = ACCOUNTS.iter().find_map(|name| Self::named(name)).with_context(|| {
            format!("PostgreSQL does not run as root, and there is no user {}", ACCOUNTS.join(" or "))
        })?;
        chown(folder, Some(account.user), Some(account.group))?;
        Ok(Some(account))
    }

    fn named(name: &str) -> Option<Self> {
        let id = |kind: &str| {
            let output = Command::new("id").args([kind, name]).output().ok()?;
            String::from_utf8(output.stdout).ok()?.trim().parse().ok()
        };
        Some(Self { user: id("-u")?, group: id("-g")? })
    }

    pub(super) fn runs(&self, command: &mut Command) {
        command.uid(self.user).gid(self.group);
    }
}

/// Below the ephemeral port range, so that no outgoing connection takes the port of a stopped server.
const FIRST_PORT: u16 = 12_000;
const PORT_COUNT: u16 = 20_000;

/// Spreads the start ports of parallel processes.
const PROCESS_STRIDE: u32 = 61;

static NEXT_PORT: AtomicU16 = AtomicU16::new(0);

/// Returns loopback ports that are free at this moment, never the same twice in a process.
pub(super) fn candidates() -> impl Iterator<Item = u16> {
    let start = std::process::id().wrapping_mul(PROCESS_STRIDE) % u32::from(PORT_COUNT);
    let numbered = std::iter::repeat_with(|| NEXT_PORT.fetch_add(1, Ordering::Relaxed));
    let ports = numbered.take(usize::from(PORT_COUNT)).filter_map(move |number| {
        u16::try_from((start + u32::from(number)) % u32::from(PORT_COUNT))
            .ok()
            .map(|offset| FIRST_PORT + offset)
    });
    ports.filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
}

/// Its input is never written to. It ends when the input is closed, which the system does even if this process is
/// killed.
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
        // In its own process group, because Ctrl-C and a test runner's kill reach the whole group.
        shell.process_group(0);
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
        // Drop cannot report an error; the folder is removed afterwards in any case.
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn installation(folder: &Path, programs: &[&str]) {
        fs::create_dir_all(folder).unwrap();
        for program in programs {
            fs::write(folder.join(program), "").unwrap();
        }
    }

    #[test]
    fn prefers_the_newest_version_and_ignores_other_folders() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["pgsql-9.6", "pgsql-17", "pgsql-15", "pgsql-common", "18"] {
            installation(&parent.path().join(name).join("bin"), &REQUIRED_PROGRAMS);
        }
        let expected = ["pgsql-17", "pgsql-15", "pgsql-9.6"].map(|name| parent.path().join(name).join("bin"));
        assert_eq!(versions(parent.path(), "pgsql-"), expected);
    }

    #[test]
    fn skips_folders_that_lack_a_program() {
        let parent = tempfile::tempdir().unwrap();
        let (client, server) = (parent.path().join("client"), parent.path().join("server"));
        installation(&client, &["pg_ctl", "psql"]);
        installation(&server, &REQUIRED_PROGRAMS);
        assert_eq!(Programs::among([client.clone(), server.clone()]), Some(Programs(server)));
        assert_eq!(Programs::among([client]), None);
    }
}
