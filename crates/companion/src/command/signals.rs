//! The signals that end the program.

use crate::service::Notice;
use std::io;

/// Listens for SIGTERM, SIGINT and SIGHUP from its creation on. SIGHUP stops the program, as when its terminal is
/// closed; it does not reload the configuration.
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

    /// Waits for a signal. SIGINT skips the notice period, because the user at the terminal knows.
    pub(super) async fn received(&mut self) -> Notice {
        tokio::select! {
            _ = self.terminate.recv() => Notice::Given,
            _ = self.interrupt.recv() => Notice::Skipped,
            _ = self.hangup.recv() => Notice::Given,
        }
    }
}

/// Listens for Ctrl-C, the only signal of this platform.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for Ctrl-C.
    pub(super) async fn received(&mut self) -> Notice {
        let _ = tokio::signal::ctrl_c().await;
        Notice::Skipped
    }
}
