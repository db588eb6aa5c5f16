//! The life cycle shared by `serve` and `demo`: start, wait for a signal, stop.

use crate::{
    composition::{Composition, Storage},
    configuration::Configuration,
    error::{ProgramError, failed, refused},
    service::{Listeners, Notice, Service},
    supervisor::{self, PassedListeners},
};
use std::{io, time::Duration};
use tokio::{
    runtime::Runtime,
    signal::unix::{Signal, SignalKind, signal},
    time::timeout,
};

/// Upper bound of a shutdown.
const STOP_DEADLINE: Duration = Duration::from_secs(5);

const UNUSED_DASHBOARD: &str = "LISTEN_FDS: a listener for the dashboard was passed, but the dashboard is off\n    fix: \
     set dashboard.listen and dashboard.url, or remove the socket from the unit";

/// A service in this process, and the runtime it runs on.
pub(super) struct Foreground {
    pub(super) runtime: Runtime,
    pub(super) service: Service,
    pub(super) signals: Signals,
    pub(super) storage: Storage,
    /// Overrides the notice period that follows from the signal.
    pub(super) notice: Option<Notice>,
}

impl Foreground {
    /// Binds the configured listeners and serves the composition that `compose` returns.
    pub(super) fn start(
        configuration: &Configuration,
        compose: impl AsyncFnOnce() -> Result<(Composition, Storage), ProgramError>,
    ) -> Result<Self, ProgramError> {
        let runtime = Runtime::new().map_err(failed)?;
        let (composition, storage) = runtime.block_on(compose())?;
        let passed = PassedListeners::take()?;
        if passed.dashboard.is_some() && configuration.dashboard.listen.is_none() {
            return Err(refused(UNUSED_DASHBOARD));
        }
        let listeners = Listeners::bind_others(configuration, passed, None)?;
        // Signals are handled before "serving" is printed, so that a script that waits for that line can stop the
        // service.
        let (signals, service) = runtime.block_on(async {
            let signals = Signals::listen().map_err(failed)?;
            Ok::<_, ProgramError>((signals, Service::start(configuration, composition, listeners).await?))
        })?;
        Ok(Self { runtime, service, signals, storage, notice: None })
    }

    /// Serves until a signal arrives, then stops.
    pub(super) fn until_signal(mut self) -> Result<(), ProgramError> {
        let ended = self.runtime.block_on(async {
            let notice = tokio::select! {
                notice = self.signals.received() => notice,
                error = self.service.failed() => return Err(failed(error)),
            };
            tracing::info!("stopping");
            supervisor::stopping();
            let stopped = async {
                let stopped = self.service.stop_with(self.notice.unwrap_or(notice)).await;
                self.storage.close().await;
                stopped
            };
            tokio::select! {
                stopped = timeout(STOP_DEADLINE, stopped) => match stopped {
                    Ok(stopped) => stopped,
                    Err(_) => Err(failed("stopping took too long; some requests were cut off")),
                },
                _ = self.signals.received() => {
                    Err(failed("a second signal arrived; requests in flight were cut off"))
                }
            }
        });
        self.runtime.shutdown_background();
        ended
    }
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
