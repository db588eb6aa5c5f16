//! The connection guard: between a listener's sockets and the HTTP/1 server.
//!
//! The server parses whatever it reads, keeps state of the last parsed request per connection, and has a deadline for the
//! first head only. The guard lets it read one request at a time: a head, then that request's body, then nothing until
//! the last byte of the answer is written. It also limits connections and how long each may wait.
//!
//! [`ServerLimits`] are the limits of a listener and of its connections.
//!
//! | file | subject |
//! |---|---|
//! | `admission` | places of a listener: limits, deadlines, eviction |
//! | `framing` | where a head and a body end |
//! | `stream` | what the server may read, and when its answer is written |
//! | `answers` | tells the stream which request is being answered |
//! | `door` | the life of a connection, from accept to close |
//! | `drain` | how a listener stops |

mod admission;
mod answers;
mod door;
mod drain;
mod framing;
mod stream;

pub(crate) use self::{
    admission::{Admission, ConnectionMetrics},
    answers::watched,
    door::{Door, guarded},
    drain::{Drain, Stage, last_call},
    framing::Body,
    stream::GuardedStream,
};

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
