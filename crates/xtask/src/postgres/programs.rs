//! Where the server's programs are: often not in the path, since several versions may be installed side by side.

use std::cmp::Reverse;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) const MISSING: &str = "PostgreSQL's server programs (initdb, pg_ctl, postgres) were not found. \
    Install them, with `apt-get install postgresql` or `brew install postgresql` for instance, \
    or put their folder into PATH.";

const NEEDED: [&str; 3] = ["initdb", "pg_ctl", "postgres"];

/// Folders whose entries with this beginning and a version are installations; the newest counts.
const INSTALLATIONS: [(&str, &str); 6] = [
    ("/usr/lib/postgresql", ""),
    ("/usr", "pgsql-"),
    ("/opt/homebrew/opt", "postgresql@"),
    ("/usr/local/opt", "postgresql@"),
    ("/home/linuxbrew/.linuxbrew/opt", "postgresql@"),
    ("/Applications/Postgres.app/Contents/Versions", ""),
];

/// A folder that has all of them, so that they are of one version.
#[derive(Debug, PartialEq)]
pub(super) struct Programs(PathBuf);

impl Programs {
    pub(super) fn find() -> Option<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        let installed = INSTALLATIONS.iter().flat_map(|(parent, name)| versions(Path::new(parent), name));
        Self::among(env::split_paths(&path).chain(told_by_pg_config()).chain(installed))
    }

    pub(super) fn among(folders: impl IntoIterator<Item = PathBuf>) -> Option<Self> {
        let complete = |folder: &PathBuf| NEEDED.iter().all(|program| folder.join(program).is_file());
        folders.into_iter().find(complete).map(Self)
    }

    pub(super) fn path(&self, program: &str) -> PathBuf {
        let here = self.0.join(program);
        if here.is_file() {
            return here;
        }
        // What lies in the path may be links to some of an installation's programs.
        let installed = self.0.join("postgres").canonicalize().ok();
        installed.and_then(|server| Some(server.parent()?.join(program))).unwrap_or(here)
    }

    pub(super) fn command(&self, program: &str, folder: &Path) -> Command {
        self.environment(self.path(program), folder)
    }

    /// A command that speaks English, takes no settings from this process, and runs where it may.
    pub(super) fn environment(&self, program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(folder).env("LC_ALL", "C");
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
            command.env_remove(name);
        }
        command
    }
}

fn told_by_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    String::from_utf8(output.stdout).ok().map(|folder| PathBuf::from(folder.trim()))
}

/// The program folders of the installations in `parent`, the newest first.
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn installation(folder: &Path, programs: &[&str]) {
        fs::create_dir_all(folder).unwrap();
        for program in programs {
            fs::write(folder.join(program), "").unwrap();
        }
    }

    #[test]
    fn the_newest_version_comes_first_and_other_folders_do_not_count() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["pgsql-9.6", "pgsql-17", "pgsql-15", "pgsql-common", "18"] {
            installation(&parent.path().join(name).join("bin"), &NEEDED);
        }
        let expected = ["pgsql-17", "pgsql-15", "pgsql-9.6"].map(|name| parent.path().join(name).join("bin"));
        assert_eq!(versions(parent.path(), "pgsql-"), expected);
    }

    #[test]
    fn a_folder_with_only_some_of_the_programs_is_passed_over() {
        let parent = tempfile::tempdir().unwrap();
        let (client, server) = (parent.path().join("client"), parent.path().join("server"));
        installation(&client, &["pg_ctl", "psql"]);
        installation(&server, &NEEDED);
        assert_eq!(Programs::among([client.clone(), server.clone()]), Some(Programs(server)));
        assert_eq!(Programs::among([client]), None);
    }
}
