//! Runs the binary.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    process::{Child, ChildStdout, Command, Output, Stdio},
    sync::Arc,
    thread::{self, JoinHandle},
};
use tempfile::TempDir;

/// The program in an empty folder, with a clean environment. Its temporary files are removed with the test, even if the
/// program is killed.
pub(crate) struct Program {
    folder: Arc<TempDir>,
    temporary: TempDir,
    command: Command,
}

/// The result of a finished program.
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Program {
    pub(crate) fn new(arguments: &[&str]) -> Self {
        Self::within(&Arc::new(TempDir::new().unwrap()), arguments)
    }

    /// Creates a program in a shared folder.
    pub(crate) fn within(folder: &Arc<TempDir>, arguments: &[&str]) -> Self {
        let (folder, temporary) = (Arc::clone(folder), TempDir::new().unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_companion"));
        command.args(arguments).current_dir(folder.path()).env_clear().env("TMPDIR", temporary.path());
        Self { folder, temporary, command }
    }

    /// Creates a program that serves on free ports with storage in memory.
    pub(crate) fn serving(arguments: &[&str]) -> Self {
        Self::new(arguments).env("COMPANION_STORAGE__URL", "memory:").on_free_ports()
    }

    /// Creates a program that serves on free ports from a shared folder.
    pub(crate) fn serving_within(folder: &Arc<TempDir>) -> Self {
        Self::within(folder, &["serve"]).on_free_ports()
    }

    /// Runs a command in a shared folder to its end.
    pub(crate) fn run(folder: &Arc<TempDir>, arguments: &[&str]) -> Finished {
        Self::within(folder, arguments).finish()
    }

    pub(crate) fn on_free_ports(self) -> Self {
        self.env("COMPANION_HTTP__LISTEN", "127.0.0.1:0").env("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.folder.path().join(name), text).unwrap();
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs the program as an unprivileged user. If the tests run as root, that user cannot access the folder of the
    /// binary, so the binary is copied.
    #[cfg(unix)]
    pub(crate) fn without_rights(mut self) -> Self {
        use std::{
            fs,
            os::unix::{
                fs::{MetadataExt as _, PermissionsExt as _},
                process::CommandExt as _,
            },
        };
        const NOBODY: u32 = 65_534;
        if fs::metadata(self.temporary.path()).unwrap().uid() != 0 {
            return self;
        }
        fs::set_permissions(self.temporary.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let copy = self.temporary.path().join("companion");
        fs::copy(self.command.get_program(), &copy).unwrap();
        let mut command = Command::new(copy);
        command.args(self.command.get_args()).current_dir(self.folder.path()).env_clear();
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.command = command;
        self.command.uid(NOBODY);
        self
    }

    /// Sets the limit of open files.
    pub(crate) fn with_descriptors(mut self, limit: usize) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {limit} && exec \"$0\" \"$@\"")]);
        command.arg(self.command.get_program()).args(self.command.get_args());
        command.current_dir(self.folder.path()).env_clear();
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.command = command;
        self
    }

    pub(crate) fn finish(mut self) -> Finished {
        Finished::from(self.command.output().unwrap())
    }

    pub(crate) fn start(mut self) -> Running {
        let mut child = self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut log = child.stderr.take().unwrap();
        // Drain the log continuously: a program blocks when the pipe of its log is full.
        let err = thread::spawn(move || {
            let mut text = String::new();
            log.read_to_string(&mut text).unwrap();
            text
        });
        let Self { folder, temporary, .. } = self;
        Running { child: Some(child), out, said: String::new(), err: Some(err), temporary, _folder: folder }
    }
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// A running program. It is killed on drop.
pub(crate) struct Running {
    child: Option<Child>,
    out: BufReader<ChildStdout>,
    said: String,
    err: Option<JoinHandle<String>>,
    temporary: TempDir,
    _folder: Arc<TempDir>,
}

impl Running {
    /// Reads the program's output up to the line that contains `part`, and returns the line.
    pub(crate) fn said(&mut self, part: &str) -> String {
        if let Some(line) = self.said.lines().find(|line| line.contains(part)) {
            return line.to_owned();
        }
        loop {
            let mut line = String::new();
            assert!(self.out.read_line(&mut line).unwrap() > 0, "it never said {part:?}: {}", self.rest());
            self.said.push_str(&line);
            if line.contains(part) {
                return line.trim_end().to_owned();
            }
        }
    }

    /// Returns the address after a label of the output.
    pub(crate) fn address(&mut self, label: &str) -> String {
        let line = self.said(label);
        let start = line.find("://").unwrap() + "://".len();
        line[start..].split(' ').next().unwrap().to_owned()
    }

    pub(crate) fn public(&mut self) -> String {
        self.address("Public API:")
    }

    pub(crate) fn management(&mut self) -> String {
        self.address("Management API:")
    }

    /// Returns the folder of its temporary files.
    pub(crate) fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Returns its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Waits for the program to exit.
    pub(crate) fn finish(mut self) -> Finished {
        self.ended()
    }

    /// Stops the program with SIGINT, and returns the result.
    pub(crate) fn stop(self) -> Finished {
        self.signal("INT");
        let finished = self.finish();
        assert_eq!(finished.code, Some(0), "{}", finished.err);
        finished
    }

    /// Waits for the program to exit, but keeps its folders for inspection.
    pub(crate) fn ended(&mut self) -> Finished {
        let mut out = std::mem::take(&mut self.said);
        self.out.read_to_string(&mut out).unwrap();
        let code = self.child.take().unwrap().wait().unwrap().code();
        Finished { code, out, err: self.err.take().unwrap().join().unwrap() }
    }

    fn rest(&mut self) -> String {
        let mut child = self.child.take().unwrap();
        let _ = child.kill();
        child.wait().unwrap();
        self.err.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Resources of a running program, as Linux reports them.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holdings {
    /// Resident memory, in bytes.
    pub(crate) memory: u64,
    /// Open file descriptors.
    pub(crate) files: usize,
}

#[cfg(target_os = "linux")]
impl Holdings {
    pub(crate) fn of(service: &Running) -> Self {
        Self::of_process(&service.id().to_string())
    }

    /// Returns the resources of this process, for services that run in it.
    pub(crate) fn of_this_process() -> Self {
        Self::of_process("self")
    }

    fn of_process(name: &str) -> Self {
        let process = format!("/proc/{name}");
        let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kilobytes: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
        Self { memory: kilobytes << 10, files: std::fs::read_dir(format!("{process}/fd")).unwrap().count() }
    }

    pub(crate) fn megabytes(self) -> u64 {
        self.memory >> 20
    }
}
