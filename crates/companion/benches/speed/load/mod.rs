//! The load generator: a separate process, so that it has its own core.

mod closed;
mod paced;

use self::closed::Requests;
use crate::machine;
use anyhow::Context as _;
use clap::Args;
use serde::{Deserialize, Serialize};
use std::{net::SocketAddr, path::PathBuf, process::Stdio};

/// What to send, and how.
#[derive(Args, Clone)]
pub(crate) struct Load {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    /// Session tokens, one per line, used in turn
    #[arg(long)]
    pub(crate) tokens: Option<PathBuf>,
    #[arg(long, default_value_t = 32)]
    pub(crate) connections: usize,
    #[arg(long, default_value_t = 1.0)]
    pub(crate) seconds: f64,
    /// Requests per second, whether or not earlier ones were answered
    #[arg(long)]
    pub(crate) rate: Option<f64>,
    /// Stop after every token was used once
    #[arg(long)]
    pub(crate) once: bool,
    /// Sign in with each token as a code
    #[arg(long)]
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
        let mut command = machine::on_load_core(&std::env::current_exe()?);
        command.arg("load").arg(self.address.to_string()).arg(&self.path);
        command.arg("--connections").arg(self.connections.to_string());
        command.arg("--seconds").arg(self.seconds.to_string());
        if let Some(tokens) = &self.tokens {
            command.arg("--tokens").arg(tokens);
        }
        if let Some(rate) = self.rate {
            command.arg("--rate").arg(rate.to_string());
        }
        for (flag, is_set) in [("--once", self.once), ("--sign-in", self.sign_in)] {
            command.args(is_set.then_some(flag));
        }
        let output = command.stderr(Stdio::inherit()).output().context("the load cannot be started")?;
        anyhow::ensure!(output.status.success(), "the load on {} failed", self.path);
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// The process itself: prints its result.
pub(crate) fn run(load: &Load) -> anyhow::Result<()> {
    let requests = Requests::of(load)?;
    let outcome = match load.rate {
        Some(rate) => paced::run(load, &requests, rate)?,
        None => closed::run(load, requests)?,
    };
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(())
}
