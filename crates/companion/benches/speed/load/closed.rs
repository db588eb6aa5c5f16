//! A closed loop of clients, and the requests that all loads send.

use super::{Load, Outcome};
use crate::machine::Answers;
use anyhow::Context as _;
use std::{cell::Cell, rc::Rc, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::LocalSet,
    time::Instant,
};

/// State shared by all connections.
struct Crowd {
    load: Load,
    requests: Requests,
    next: Cell<usize>,
    over: Cell<bool>,
}

pub(super) fn run(load: &Load, requests: Requests) -> anyhow::Result<Outcome> {
    let crowd = Rc::new(Crowd { load: load.clone(), requests, next: Cell::new(0), over: Cell::new(false) });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let mut streams = Vec::new();
        for _ in 0..load.connections {
            let stream = TcpStream::connect(load.address).await?;
            stream.set_nodelay(true)?;
            streams.push(stream);
        }
        let start = Instant::now();
        let connections: Vec<_> = streams
            .into_iter()
            .map(|stream| tokio::task::spawn_local(connection(crowd.clone(), stream)))
            .collect();
        if !load.once {
            tokio::time::sleep(Duration::from_secs_f64(load.seconds)).await;
            crowd.over.set(true);
        }
        let mut requests = 0;
        for connection in connections {
            requests += connection.await??;
        }
        Ok(Outcome { requests, seconds: start.elapsed().as_secs_f64(), median: 0.0, p99: 0.0 })
    })
}

/// Runs one connection to its end. Returns the number of responses.
async fn connection(crowd: Rc<Crowd>, mut stream: TcpStream) -> anyhow::Result<u64> {
    let Crowd { load, requests, next, over } = &*crowd;
    let (mut out, mut answers, mut answered) = (Vec::new(), Answers::default(), 0);
    let is_over = || over.get() || (load.once && next.get() >= requests.count());
    while !is_over() {
        out.clear();
        requests.write(next.replace(next.get() + 1), &mut out);
        stream.write_all(&out).await?;
        while !answers.take()? {
            if stream.read_buf(answers.buffer()).await? == 0 {
                anyhow::bail!("the server closed a connection");
            }
        }
        answered += 1;
    }
    Ok(answered)
}

/// Requests of one path, each with the next token if there are any.
pub(super) struct Requests {
    before: String,
    header: &'static str,
    tokens: Vec<String>,
}

impl Requests {
    pub(super) fn of(load: &Load) -> anyhow::Result<Self> {
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
    pub(super) fn count(&self) -> usize {
        self.tokens.len().max(1)
    }

    /// Appends the request of this number.
    pub(super) fn write(&self, number: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.before.as_bytes());
        if let Some(token) = self.tokens.get(number % self.count()) {
            for part in [self.header, ": ", token, "\r\n"] {
                out.extend_from_slice(part.as_bytes());
            }
        }
        out.extend_from_slice(b"\r\n");
    }
}
