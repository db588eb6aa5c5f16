//! The life cycle shared by `serve` and `demo`: wait for a signal, stop.

use crate::{
    composition::Storage,
    error::{ProgramError, failed},
    service::{Notice, Service},
    supervisor,
};
use std::{io, time::Duration};
use tokio::{
    runtime::Runtime,
    signal::unix::{Signal, SignalKind, signal},
    time::timeout,
};

/// Upper bound of a shutdown.
const STOP_DEADLINE: Duration = Duration::from_secs(5);

/// Serves until a signal arrives, then stops, with this notice period or the one that follows from the signal.
pub(super) fn until_signal(
    runtime: Runtime,
    mut service: Service,
    mut signals: Signals,
    storage: &Storage,
    notice: Option<Notice>,
) -> Result<(), ProgramError> {
    let ended = runtime.block_on(async {
        let of_signal = tokio::select! {
            notice = signals.received() => notice,
            error = service.failed() => return Err(failed(error)),
        };
        tracing::info!("stopping");
        supervisor::stopping();
        let stopped = async {
            let stopped = service.stop_with(notice.unwrap_or(of_signal)).await;
            storage.close().await;
            stopped
        };
        tokio::select! {
            stopped = timeout(STOP_DEADLINE, stopped) => match stopped {
                Ok(stopped) => stopped,
                Err(_) => Err(failed("stopping took too long; some requests were cut off")),
            },
            _ = signals.received() => Err(failed("a second signal arrived; requests in flight were cut off")),
        }
    });
    runtime.shutdown_background();
    ended
}

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
