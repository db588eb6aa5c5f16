//! The machine and the parsing of responses: cores, memory, ports, and the end of a response.

use anyhow::Context as _;
use memchr::memmem;
use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Command,
};

/// Returns a command that runs its arguments on the server core.
pub(crate) fn server_core() -> Command {
    on_core("0")
}

/// Returns a command that runs its arguments on the load core.
pub(crate) fn load_core() -> Command {
    on_core("1")
}

fn on_core(core: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", core]);
    command
}

/// Returns a free loopback address.
pub(crate) fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// Returns the resident memory of a process, in bytes.
pub(crate) fn resident(process: u32) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}

/// Returns the processor time of a process, in clock ticks of 10 ms.
pub(crate) fn ticks_at_work(process: u32) -> anyhow::Result<u64> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The numbers follow the name of the program, which may contain brackets.
    let (_, numbers) = line.rsplit_once(')').context("no name")?;
    let mut numbers = numbers.split_whitespace().skip(11);
    let mut next = || anyhow::Ok(numbers.next().context("no time")?.parse::<u64>()?);
    Ok(next()? + next()?)
}

/// Returns a path relative to the repository root. Cargo runs a benchmark in the folder of its crate.
pub(crate) fn in_repository(path: &Path) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

/// Whether a program can be run.
pub(crate) fn has(program: &str) -> bool {
    let mut command = Command::new(program);
    let quiet =
        command.arg("--version").stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Received bytes that are not yet split into responses.
#[derive(Default)]
pub(crate) struct Answers {
    bytes: Vec<u8>,
    start: usize,
}

impl Answers {
    /// Returns the buffer to append received bytes to.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        }
        &mut self.bytes
    }

    /// Takes one complete response, if there is one. Any status but 200 is an error, because refusals say nothing about
    /// speed.
    pub(crate) fn take(&mut self) -> anyhow::Result<bool> {
        let rest = self.bytes.get(self.start..).unwrap_or_default();
        let Some(head) = memmem::find(rest, b"\r\n\r\n") else { return Ok(false) };
        let (head, _) = rest.split_at(head);
        if !head.starts_with(b"HTTP/1.1 200") {
            anyhow::bail!("an answer that is not 200: {}", String::from_utf8_lossy(rest));
        }
        let length = content_length(head).context("an answer without a length")?;
        let whole = head.len() + 4 + length;
        let complete = rest.len() >= whole;
        if complete {
            self.start += whole;
        }
        Ok(complete)
    }
}

fn content_length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"\r\ncontent-length: ";
    let digits = head.get(memmem::find(head, NAME)? + NAME.len()..)?;
    let digits = digits.split(|byte| *byte == b'\r').next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
