//! A server under load, as a separate process.

use crate::machine::{self, Answers};
use anyhow::Context as _;
use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Timeout of the first response: peers fill their database first.
const START: Duration = Duration::from_secs(600);
/// Timeout of a stop.
const STOP: Duration = Duration::from_secs(20);

/// A listening process. Stopped on drop.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: SocketAddr,
    /// How long the start took.
    pub(crate) ready_after: Duration,
}

impl Server {
    /// Starts a server and waits until it answers this probe with 200.
    pub(crate) fn start(
        mut command: Command,
        address: SocketAddr,
        probe: (SocketAddr, &str),
        log: &Path,
    ) -> anyhow::Result<Self> {
        let log_file = std::fs::File::create(log)?;
        let start = Instant::now();
        let process = command
            .stdin(Stdio::null())
            .stdout(log_file.try_clone()?)
            .stderr(log_file)
            .spawn()
            .with_context(|| format!("{} cannot be started", command.get_program().display()))?;
        let mut server = Self { process, address, ready_after: Duration::ZERO };
        loop {
            if get(probe.0, probe.1, "").is_ok() {
                server.ready_after = start.elapsed();
                return Ok(server);
            }
            let ended = server.process.try_wait()?.is_some();
            if ended || start.elapsed() > START {
                anyhow::bail!("a server did not start: {}", std::fs::read_to_string(log)?);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn resident(&self) -> anyhow::Result<u64> {
        machine::resident(self.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have exited by itself. SIGTERM, so that callgrind and instrumented builds write their results.
        let _ = Command::new("kill").arg(self.id().to_string()).status();
        let start = Instant::now();
        while start.elapsed() < STOP && matches!(self.process.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends a GET request, and returns the body of its 200.
pub(crate) fn get(address: SocketAddr, path: &str, headers: &str) -> anyhow::Result<Vec<u8>> {
    exchange(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}Connection: close\r\n\r\n"),
    )
}

/// Sends one request and returns the body of its 200.
pub(crate) fn exchange(address: SocketAddr, request: &str) -> anyhow::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = memchr::memmem::find(&answer, b"\r\n\r\n").context("no answer")?;
    let body = answer.split_off(end + 4);
    anyhow::ensure!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    Ok(body)
}

/// Sends requests on one connection, each after the previous one was answered with 200. Returns their number.
pub(crate) fn one_after_another(
    address: SocketAddr,
    requests: impl Iterator<Item = String>,
) -> anyhow::Result<u64> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let (mut answers, mut answered) = (Answers::default(), 0);
    for request in requests {
        stream.write_all(request.as_bytes())?;
        while !answers.take()? {
            let mut bytes = [0; 16 * 1024];
            let read = stream.read(&mut bytes)?;
            anyhow::ensure!(read > 0, "the server closed the connection");
            answers.buffer().extend(bytes.iter().take(read));
        }
        answered += 1;
    }
    Ok(answered)
}
