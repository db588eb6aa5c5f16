//! The signals that end the program.

use crate::service::Notice;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for SIGTERM, SIGINT and SIGHUP from its creation on. SIGHUP stops the program, as when its terminal is
/// closed; it does not reload the configuration.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal. SIGINT skips the notice period, because the user at the terminal knows.
    pub(super) async fn received(&mut self) -> Notice {
        tokio::select! {
            _ = self.terminate.recv() => Notice::Given,
            _ = self.interrupt.recv() => Notice::Skipped,
            _ = self.hangup.recv() => Notice::Given,
        }
    }
}
