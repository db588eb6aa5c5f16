//! No one else may connect, and whoever already has is still let in.

use std::net::TcpListener;

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
