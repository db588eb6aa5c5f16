//! The connection guard: between a listener's sockets and the HTTP/1 server.
//!
//! The server parses whatever it reads, keeps state of the last parsed request per connection, and has a deadline for the
//! first head only. The guard lets it read one request at a time: a head, then that request's body, then nothing until
//! the last byte of the answer is written. It also limits connections and how long each may wait.
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
