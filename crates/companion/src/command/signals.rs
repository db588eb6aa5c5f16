//! The signals that end the program.

use crate::service::Notice;
use std::io;

/// Listens for SIGTERM, SIGINT and SIGHUP from the moment it is made. A terminal that is closed ends the program as cleanly as
/// anything else; the configuration is not read again.
#[cfg(unix)]
pub(super) struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Returns when one was received, and whether anyone has to be told before the end: whoever presses Ctrl-C knows.
    pub(super) async fn received(&mut self) -> Notice {
        tokio::select! {
            _ = self.terminate.recv() => Notice::Given,
            _ = self.interrupt.recv() => Notice::Skipped,
            _ = self.hangup.recv() => Notice::Given,
        }
    }
}

/// Listens for Ctrl-C, which is all there is here.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    /// Returns when it was received.
    pub(super) async fn received(&mut self) -> Notice {
        let _ = tokio::signal::ctrl_c().await;
        Notice::Skipped
    }
}
