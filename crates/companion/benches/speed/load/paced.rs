//! Sends requests at a constant rate, whether or not earlier ones were answered, and measures each from when it was
//! due.
//!
//! This process has its own core, so it polls its sockets without sleeping: no timer is as precise as what is measured
//! here.

use super::{Load, Outcome, closed::Requests};
use crate::machine::Answers;
use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

struct Connection {
    stream: TcpStream,
    answers: Answers,
    /// When the request in flight was due.
    due: Option<Instant>,
}

pub(super) fn run(load: &Load, requests: &Requests, rate: f64) -> anyhow::Result<Outcome> {
    let mut connections = Vec::new();
    for _ in 0..load.connections {
        let stream = TcpStream::connect(load.address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        connections.push(Connection { stream, answers: Answers::default(), due: None });
    }
    let interval = Duration::from_secs_f64(1.0 / rate);
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(load.seconds);
    // Until then the server is still accepting the connections.
    let counted_from = start + Duration::from_secs_f64(load.seconds / 10.0);
    let (mut next_due, mut number, mut out, mut took) = (start, 0, Vec::new(), Vec::new());
    while next_due < end || connections.iter().any(|connection| connection.due.is_some()) {
        for connection in &mut connections {
            if connection.due.is_some() {
                let due = connection.due;
                if let Some(taken) = connection.answered()?
                    && due >= Some(counted_from)
                {
                    took.push(taken.as_secs_f64() * 1e6);
                }
            } else if next_due < end && Instant::now() >= next_due {
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
    Ok(Outcome { requests: took.len() as u64, seconds, median: at(50), p99: at(99) })
}

impl Connection {
    /// Returns the duration of the request in flight, if it has been answered.
    fn answered(&mut self) -> anyhow::Result<Option<Duration>> {
        let mut bytes = [0; 16 * 1024];
        match self.stream.read(&mut bytes) {
            Ok(0) => anyhow::bail!("the server closed a connection"),
            Ok(count) => self.answers.buffer().extend(bytes.iter().take(count)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let due = if self.answers.take()? { self.due.take() } else { None };
        Ok(due.map(|due| due.elapsed()))
    }
}
