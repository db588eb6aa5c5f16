//! Asks a server in its own language, past the program.

use std::{fs, path::PathBuf, process::Command, sync::OnceLock};

/// Where Debian and its kin put each version's programs.
const INSTALLATIONS: &str = "/usr/lib/postgresql";

/// Runs a statement and gives its rows, one a line.
pub(crate) fn psql(url: &str, statement: &str) -> String {
    let quiet = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"];
    let mut command = Command::new(program());
    let output = command.args(quiet).args(["--command", statement, url]).output().unwrap();
    assert!(output.status.success(), "{statement}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let installed = fs::read_dir(INSTALLATIONS).into_iter().flatten().flatten();
        let folders = std::env::split_paths(&path).chain(installed.map(|entry| entry.path().join("bin")));
        folders.map(|folder| folder.join("psql")).find(|file| file.is_file()).unwrap_or_else(|| "psql".into())
    })
}
