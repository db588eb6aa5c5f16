//! The load generator: a separate process, so that it has its own core.

mod closed;
mod paced;

use self::closed::Requests;
use crate::{arguments::Job, machine};
use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use std::{net::SocketAddr, path::PathBuf, process::Stdio};

/// What to send, and how.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Load {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    /// The file with session tokens, one per line, used in turn.
    pub(crate) tokens: Option<PathBuf>,
    pub(crate) connections: usize,
    pub(crate) seconds: f64,
    /// Requests per second, whether or not earlier ones were answered.
    pub(crate) rate: Option<f64>,
    /// Whether to stop after every token was used once.
    pub(crate) once: bool,
    /// Whether to sign in with each token as a code.
    pub(crate) sign_in: bool,
}

/// The result of a load.
#[derive(Serialize, Deserialize, Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) requests: u64,
    pub(crate) seconds: f64,
    /// In microseconds, from when a request was due; only with a rate.
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
        let requests = Requests::of(self)?;
        let outcome = match self.rate {
            Some(rate) => paced::run(self, &requests, rate)?,
            None => closed::run(self, requests)?,
        };
        println!("{}", serde_json::to_string(&outcome)?);
        Ok(())
    }
}
