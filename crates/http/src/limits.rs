//! Limits of a listener and of its connections.

use std::time::Duration;

/// How many connections beyond its limit a worker may have accepted, to refuse them or to evict idle ones for them.
pub const ACCEPTED_AHEAD: usize = 32;

/// Limits of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// Threads that answer.
    pub workers: usize,
    /// Connections, over all threads.
    pub connections: usize,
    /// Connections of one address, or one IPv6 network. Trusted proxies are exempt.
    pub connections_per_address: usize,
    /// Time until the first byte, and for a TLS handshake.
    pub request_head: Duration,
    /// Time for a head, and for a client to read some of an answer.
    pub patience: Duration,
    /// Time between two requests.
    pub keep_alive: Duration,
    /// Time for a client to close a connection after its last answer.
    pub disconnect: Duration,
    /// Time for requests in flight when the listener stops.
    pub drain: Duration,
}

impl Default for ServerLimits {
    /// Limits for one thread per core. Stopping is over within five seconds, so draining leaves one for the rest.
    fn default() -> Self {
        Self {
            workers: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            connections: 20_000,
            connections_per_address: 4000,
            request_head: Duration::from_secs(5),
            patience: Duration::from_secs(6),
            keep_alive: Duration::from_secs(75),
            disconnect: Duration::from_secs(1),
            drain: Duration::from_secs(4),
        }
    }
}
