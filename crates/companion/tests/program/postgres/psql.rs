//! Asks a server in its own language, past the program.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::OnceLock,
};

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

/// A transaction that holds what a statement locks, until it is released.
pub(crate) struct Holding {
    child: Child,
}

impl Holding {
    /// Returns when the lock is held.
    pub(crate) fn take(url: &str, statement: &str) -> Self {
        let mut command = Command::new(program());
        let command = command.args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", url]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "BEGIN;\n{statement};\n\\echo held").unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        Self { child }
    }

    pub(crate) fn release(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
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
