//! The load generator: a separate process, so that it has its own core. It polls its sockets without sleeping: no timer
//! is as precise as what is measured here.

use crate::{
    arguments::Job,
    machine::{self, Answers},
};
use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

/// What to send, and how.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Load {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    /// The file with session tokens, one per line, used in turn.
    pub(crate) tokens: Option<PathBuf>,
    pub(crate) connections: usize,
    pub(crate) seconds: f64,
    /// Requests per second, whether or not earlier ones were answered. Without it each connection sends the next request
    /// after the answer.
    pub(crate) rate: Option<f64>,
    /// Whether to stop after every token was used once, however long that takes.
    pub(crate) once: bool,
    /// Whether to stop after this number of requests, however long they take.
    pub(crate) requests: Option<usize>,
    /// Whether to sign in with each token as a code.
    pub(crate) sign_in: bool,
}

/// The result of a load.
#[derive(Serialize, Deserialize, Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) requests: u64,
    pub(crate) seconds: f64,
    /// In microseconds, from when a request was due.
    pub(crate) median: f64,
    pub(crate) p99: f64,
}

impl Outcome {
    #[expect(clippy::cast_precision_loss, reason = "far fewer requests than floating point holds exactly")]
    pub(crate) fn per_second(&self) -> f64 {
        self.requests as f64 / self.seconds
    }
}

impl Load {
    pub(crate) fn new(address: SocketAddr, path: &str) -> Self {
        let path = path.to_owned();
        Self {
            address,
            path,
            tokens: None,
            connections: 32,
            seconds: 1.0,
            rate: None,
            once: false,
            requests: None,
            sign_in: false,
        }
    }

    /// Runs it in a separate process on the load core.
    pub(crate) fn measure(&self) -> anyhow::Result<Outcome> {
        let mut command = Job::Load(self.clone()).under(machine::load_core())?;
        let output = command.stderr(Stdio::inherit()).output().context("the load cannot be started")?;
        anyhow::ensure!(output.status.success(), "the load on {} failed", self.path);
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// The process itself: prints its result.
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let outcome = self.send(&Requests::of(self)?)?;
        println!("{}", serde_json::to_string(&outcome)?);
        Ok(())
    }

    fn send(&self, requests: &Requests) -> anyhow::Result<Outcome> {
        let connections = (0..self.connections).map(|_| Connection::to(self.address));
        let mut connections = connections.collect::<anyhow::Result<Vec<_>>>()?;
        let interval = self.rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(1.0 / rate));
        let start = Instant::now();
        let end = start + Duration::from_secs_f64(self.seconds);
        // Until then the server is still accepting the connections.
        let timed_from = start + Duration::from_secs_f64(self.seconds / 10.0);
        let most = self.requests.or_else(|| self.once.then(|| requests.count()));
        let goes_on = |number, due| most.map_or(due < end, |most| number < most);
        let (mut next_due, mut number, mut answered) = (start, 0, 0);
        let (mut out, mut bytes, mut took) = (Vec::new(), [0; 16 * 1024], Vec::new());
        while goes_on(number, next_due) || connections.iter().any(|connection| connection.due.is_some()) {
            for connection in &mut connections {
                if let Some(due) = connection.due {
                    if connection.is_answered(&mut bytes)? {
                        answered += 1;
                        took.extend((due >= timed_from).then(|| due.elapsed().as_secs_f64() * 1e6));
                    }
                    continue;
                }
                let now = Instant::now();
                if self.rate.is_none() {
                    next_due = now;
                }
                if goes_on(number, next_due) && now >= next_due {
                    out.clear();
                    requests.write(number, &mut out);
                    connection.stream.write_all(&out)?;
                    connection.due = Some(next_due);
                    next_due += interval;
                    number += 1;
                }
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        took.sort_by(f64::total_cmp);
        let at = |percent: usize| took.get(took.len() * percent / 100).copied().unwrap_or_default();
        Ok(Outcome { requests: answered, seconds, median: at(50), p99: at(99) })
    }
}

struct Connection {
    stream: TcpStream,
    answers: Answers,
    /// When the request in flight was due.
    due: Option<Instant>,
}

impl Connection {
    fn to(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, answers: Answers::default(), due: None })
    }

    /// Whether the request in flight has been answered.
    fn is_answered(&mut self, bytes: &mut [u8]) -> anyhow::Result<bool> {
        match self.stream.read(bytes) {
            Ok(0) => anyhow::bail!("the server closed a connection"),
            Ok(count) => self.answers.buffer().extend(bytes.iter().take(count)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let is_answered = self.answers.take()?;
        self.due = self.due.filter(|_| !is_answered);
        Ok(is_answered)
    }
}

/// Requests of one path, each with the next token if there are any.
struct Requests {
    before: String,
    header: &'static str,
    tokens: Vec<String>,
}

impl Requests {
    fn of(load: &Load) -> anyhow::Result<Self> {
        let (method, more, header) =
            if load.sign_in { ("POST", "Content-Length: 0\r\n", "Idp-Code") } else { ("GET", "", "Token") };
        let before = format!("{method} {} HTTP/1.1\r\nHost: {}\r\n{more}", load.path, load.address);
        let tokens = match &load.tokens {
            Some(file) => std::fs::read_to_string(file).with_context(|| file.display().to_string())?,
            None => String::new(),
        };
        Ok(Self { before, header, tokens: tokens.lines().map(str::to_owned).collect() })
    }

    /// Returns the number of different requests.
    fn count(&self) -> usize {
        self.tokens.len().max(1)
    }

    /// Appends the request of this number.
    fn write(&self, number: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.before.as_bytes());
        if let Some(token) = self.tokens.get(number % self.count()) {
            for part in [self.header, ": ", token, "\r\n"] {
                out.extend_from_slice(part.as_bytes());
            }
        }
        out.extend_from_slice(b"\r\n");
    }
}
