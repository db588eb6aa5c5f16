//! Ports for servers that come and go.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below those that systems hand out by themselves: while a server is stopped, no connection that happens to be opened
/// gets its port.
const FIRST: u16 = 12_000;
const COUNT: u16 = 20_000;

/// Parallel processes begin at different places.
const APART: u32 = 61;

static TAKEN_HERE: AtomicU16 = AtomicU16::new(0);

/// Ports of loopback that were free a moment ago, never the same twice in a process.
pub(super) fn candidates() -> impl Iterator<Item = u16> {
    let start = std::process::id().wrapping_mul(APART) % u32::from(COUNT);
    let numbered = std::iter::repeat_with(|| TAKEN_HERE.fetch_add(1, Ordering::Relaxed));
    let ports = numbered.take(usize::from(COUNT)).filter_map(move |number| {
        u16::try_from((start + u32::from(number)) % u32::from(COUNT)).ok().map(|offset| FIRST + offset)
    });
    ports.filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
}
