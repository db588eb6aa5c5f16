//! How a listener comes to its end without cutting anyone off.

use std::{
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};
use tokio::sync::Notify;

/// How far a listener is on its way to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Stage {
    /// Each answer is the last of its connection.
    Closing = 1,
    /// Connections that rest are ended.
    Leaving,
    /// Requests that still wait are answered, whatever they wait for.
    Over,
}

/// The way of a listener to its end. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drain(Arc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    stage: AtomicU8,
    reached: Notify,
}

impl Drain {
    /// Goes on to a stage. There is no way back.
    pub(crate) fn advance(&self, to: Stage) {
        self.0.stage.fetch_max(to as u8, Ordering::Release);
        self.0.reached.notify_waiters();
    }

    pub(crate) fn has_reached(&self, stage: Stage) -> bool {
        self.0.stage.load(Ordering::Acquire) >= stage as u8
    }

    /// Waits for a stage.
    pub(crate) async fn reached(self, stage: Stage) {
        loop {
            let reached = self.0.reached.notified();
            if self.has_reached(stage) {
                return;
            }
            reached.await;
        }
    }
}

/// Lets a listener take no more connections, but those that wait to be accepted. Closing it would turn those away.
///
/// Where the system cannot do it, whoever comes between the last that is accepted and the end is turned away.
#[cfg(target_os = "linux")]
pub(crate) fn last_call(listener: &TcpListener) {
    use socket2::{SockFilter, SockRef};
    /// Reads the byte of the TCP header with its flags.
    const FLAGS: SockFilter = SockFilter::new(0x30, 0, 0, 13);
    /// Keeps SYN and ACK of them.
    const SYN_AND_ACK: SockFilter = SockFilter::new(0x54, 0, 0, 0x12);
    /// Goes on to the next for SYN alone, which asks for a new connection, and to the one after it for anything else.
    const IS_SYN: SockFilter = SockFilter::new(0x15, 0, 1, 0x02);
    const DROP: SockFilter = SockFilter::new(0x06, 0, 0, 0);
    const ACCEPT: SockFilter = SockFilter::new(0x06, 0, 0, u32::MAX);

    let filter = [FLAGS, SYN_AND_ACK, IS_SYN, DROP, ACCEPT];
    if let Err(error) = SockRef::from(listener).attach_filter(&filter) {
        tracing::debug!(%error, "new connections cannot be kept out before the listener is closed");
    }
}

/// The same elsewhere.
#[cfg(not(target_os = "linux"))]
pub(crate) fn last_call(_: &TcpListener) {}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[test]
    fn whoever_waits_for_a_stage_hears_of_it_and_of_every_later_one() {
        let drain = Drain::default();
        let mut waiting = Box::pin(drain.clone().reached(Stage::Leaving));
        assert!(waiting.as_mut().now_or_never().is_none());
        drain.advance(Stage::Closing);
        assert!(waiting.as_mut().now_or_never().is_none());
        drain.advance(Stage::Over);
        assert!(waiting.now_or_never().is_some());
        assert!(drain.reached(Stage::Closing).now_or_never().is_some());
    }

    #[test]
    fn there_is_no_way_back() {
        let drain = Drain::default();
        drain.advance(Stage::Leaving);
        drain.advance(Stage::Closing);
        assert!(drain.has_reached(Stage::Leaving));
    }
}
