//! Runs the binary.

use std::{
    io::{BufRead as _, BufReader, Read},
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
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

    /// Serves on free ports, and prints them, as on a terminal.
    pub(crate) fn on_free_ports(self) -> Self {
        self.env("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
            .env("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
            .env("COMPANION_LOG__FORMAT", "human")
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
    pub(crate) fn without_rights(self) -> Self {
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
        command.args(self.command.get_args()).uid(NOBODY);
        self.run_by(command)
    }

    /// Sets the limit of open files.
    pub(crate) fn with_descriptors(self, limit: usize) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {limit} && exec \"$0\" \"$@\"")]);
        command.arg(self.command.get_program()).args(self.command.get_args());
        self.run_by(command)
    }

    /// Replaces the command, and keeps its folder and environment.
    fn run_by(mut self, mut command: Command) -> Self {
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
        let (sender, lines) = channel();
        read_lines(child.stdout.take().unwrap(), Line::Out, sender.clone());
        read_lines(child.stderr.take().unwrap(), Line::Err, sender);
        let Self { folder, temporary, .. } = self;
        let (out, err) = (String::new(), String::new());
        Running { child: Some(child), lines: Mutex::new(lines), out, err, temporary, _folder: folder }
    }
}

/// A line of standard output or standard error, with its end.
enum Line {
    Out(String),
    Err(String),
}

/// Sends every line until the pipe is closed. It must be read continuously: a program blocks when a pipe is full.
fn read_lines(pipe: impl Read + Send + 'static, kind: fn(String) -> Line, lines: Sender<Line>) {
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = String::new();
        while pipe.read_line(&mut line).unwrap() > 0 {
            // The receiver is gone if the test does not wait for the end.
            let _ = lines.send(kind(std::mem::take(&mut line)));
        }
    });
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
    /// Locked only to be `Sync`: threads share a running program.
    lines: Mutex<Receiver<Line>>,
    /// Standard output so far.
    out: String,
    /// Standard error so far.
    err: String,
    temporary: TempDir,
    _folder: Arc<TempDir>,
}

impl Running {
    /// Reads the program's output up to the line that contains `part`, and returns the line.
    pub(crate) fn said(&mut self, part: &str) -> String {
        self.said_any(&[part])
    }

    /// Reads up to the line of either output that contains one of these parts.
    fn said_any(&mut self, parts: &[&str]) -> String {
        let has_part = |line: &&str| parts.iter().any(|part| line.contains(part));
        loop {
            if let Some(line) = self.out.lines().chain(self.err.lines()).find(has_part) {
                return line.to_owned();
            }
            assert!(self.read(), "it never said {parts:?}: {}", self.err);
        }
    }

    /// Reads a line. Returns `false` if both outputs are closed.
    fn read(&mut self) -> bool {
        match self.lines.get_mut().unwrap().recv() {
            Ok(Line::Out(line)) => self.out.push_str(&line),
            Ok(Line::Err(line)) => self.err.push_str(&line),
            Err(_) => return false,
        }
        true
    }

    /// Returns the address after one of these labels.
    fn address_after(&mut self, labels: &[&str]) -> String {
        let line = self.said_any(labels);
        let label = labels.iter().find_map(|label| line.find(label)).unwrap();
        let (_, address) = line[label..].split_once("://").unwrap();
        address.split([' ', '"']).next().unwrap().to_owned()
    }

    /// Returns the address after a label of the output.
    pub(crate) fn address(&mut self, label: &str) -> String {
        self.address_after(&[label])
    }

    /// Returns the address of the public API, as printed or in the event of a JSON log.
    pub(crate) fn public(&mut self) -> String {
        self.address_after(&["Public API:", "\"public\":"])
    }

    /// Returns the address of the management API, as printed or in the event of a JSON log.
    pub(crate) fn management(&mut self) -> String {
        self.address_after(&["Management API:", "\"management\":"])
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
        while self.read() {}
        let code = self.child.take().unwrap().wait().unwrap().code();
        Finished { code, out: std::mem::take(&mut self.out), err: std::mem::take(&mut self.err) }
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
