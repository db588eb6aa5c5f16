//! Connection guard between the sockets of a listener and the HTTP/1 server.
//!
//! The server parses everything it reads, keeps only the state of the last parsed request per connection, and has a
//! deadline for the first request head only. The guard lets it read one request at a time: a head, then its body, then
//! nothing until the last byte of the response is written. It also limits the number of connections and enforces their
//! timeouts.
//!
//! [`ServerLimits`] are the limits of a listener and of its connections.
//!
//! | file | contents |
//! |---|---|
//! | `limiter` | limits, timeouts and eviction of connections |
//! | `framing` | finds the end of a request head and body |
//! | `stream` | the stream that the server reads and writes |
//! | `response` | tells the stream which request is being answered |
//! | `handler` | the lifecycle of a connection, from accept to close |
//! | `drain` | graceful shutdown of a listener |

mod drain;
mod framing;
mod handler;
mod limiter;
mod response;
mod stream;

pub(crate) use self::{
    drain::{Drain, Stage, reject_new_connections},
    framing::Body,
    handler::ConnectionHandler,
    limiter::ConnectionLimiter,
    response::track_responses,
    stream::GuardedStream,
};

use std::time::Duration;

/// Number of connections beyond its limit that a worker may accept, so that the guard can refuse them or evict idle
/// ones in their favour.
pub const MAX_EXCESS_CONNECTIONS: usize = 32;

/// Limits of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// Worker threads.
    pub workers: usize,
    /// Connections over all workers.
    pub connections: usize,
    /// Connections per IPv4 address or IPv6 /64 network. Trusted proxies are exempt.
    pub connections_per_address: usize,
    /// Timeout for the first byte of a connection and for the TLS handshake.
    pub request_head: Duration,
    /// Timeout for the rest of a request head, and for a client to read any part of a response.
    pub patience: Duration,
    /// Keep-alive timeout between two requests.
    pub keep_alive: Duration,
    /// Timeout for the client to close the connection after its last response.
    pub disconnect: Duration,
    /// Time for requests in flight to finish when the listener stops.
    pub drain: Duration,
}

impl Default for ServerLimits {
    /// Uses one worker per core. The process must stop within five seconds; a drain of four leaves one for the rest of
    /// the shutdown.
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
