//! Graceful shutdown of a listener.

use std::{
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};
use tokio::sync::Notify;

/// Stages of a shutdown, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Stage {
    /// Every response closes its connection.
    Closing = 1,
    /// Idle connections are closed.
    ClosingIdle,
    /// Requests in flight are answered with 503.
    Cancelling,
}

/// The shutdown state of a listener. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drain(Arc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    stage: AtomicU8,
    reached: Notify,
}

impl Drain {
    /// Advances to a stage. Stages never go back.
    pub(crate) fn advance(&self, to: Stage) {
        self.0.stage.fetch_max(to as u8, Ordering::Release);
        self.0.reached.notify_waiters();
    }

    pub(crate) fn has_reached(&self, stage: Stage) -> bool {
        self.0.stage.load(Ordering::Acquire) >= stage as u8
    }

    /// Waits until the shutdown has reached `stage`.
    pub(crate) async fn reached(&self, stage: Stage) {
        loop {
            let reached = self.0.reached.notified();
            if self.has_reached(stage) {
                return;
            }
            reached.await;
        }
    }
}

/// Rejects new connections but keeps those already in the accept queue, which closing the listener would reset.
///
/// A socket filter drops incoming SYN packets. On other systems, and if the filter cannot be attached, connections that
/// arrive between the last accept and the close are reset.
#[cfg(target_os = "linux")]
pub(crate) fn reject_new_connections(listener: &TcpListener) {
    use socket2::{SockFilter, SockRef};
    /// Loads the flags byte of the TCP header.
    const FLAGS: SockFilter = SockFilter::new(0x30, 0, 0, 13);
    /// Masks SYN and ACK.
    const SYN_AND_ACK: SockFilter = SockFilter::new(0x54, 0, 0, 0x12);
    /// For SYN alone, a new connection, continues with the next instruction; otherwise skips it.
    const IS_SYN: SockFilter = SockFilter::new(0x15, 0, 1, 0x02);
    const DROP: SockFilter = SockFilter::new(0x06, 0, 0, 0);
    const ACCEPT: SockFilter = SockFilter::new(0x06, 0, 0, u32::MAX);

    let filter = [FLAGS, SYN_AND_ACK, IS_SYN, DROP, ACCEPT];
    if let Err(error) = SockRef::from(listener).attach_filter(&filter) {
        tracing::debug!(%error, "cannot reject new connections before the listener is closed");
    }
}

/// Does nothing: socket filters are specific to Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn reject_new_connections(_: &TcpListener) {}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[test]
    fn wakes_waiters_at_their_stage_or_a_later_one() {
        let drain = Drain::default();
        let mut waiting = Box::pin(drain.reached(Stage::ClosingIdle));
        assert!(waiting.as_mut().now_or_never().is_none());
        drain.advance(Stage::Closing);
        assert!(waiting.as_mut().now_or_never().is_none());
        drain.advance(Stage::Cancelling);
        assert!(waiting.now_or_never().is_some());
        drain.advance(Stage::Closing);
        assert!(drain.reached(Stage::Cancelling).now_or_never().is_some(), "stages never go back");
    }
}
