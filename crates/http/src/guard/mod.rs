//! What stands between a listener and its application: how many may connect, and how long a connection may make us wait.
//!
//! The server itself has a deadline for the first head of a connection and for no other. Here every head has one, and so has
//! every client that does not read its answers; heads have a length, and no address can take all connections. A connection
//! looks at itself once in a while instead of setting a timer for each request: that costs a request nothing.
//!
//! | file | subject |
//! |---|---|
//! | `door`, `admission` | who may connect; nobody has buffers before their first byte |
//! | `stream`, `watched`, `connection` | the bytes, the answers, and what both say of how long someone makes us wait |
//! | `hand_over`, `ahead`, `blank_line` | how much of what came in the server gets to read |
//! | `drain`, `last_call` | how a listener comes to its end |

mod admission;
mod ahead;
mod blank_line;
mod connection;
mod door;
mod drain;
mod hand_over;
mod last_call;
mod metrics;
mod stream;
mod watched;

pub(crate) use self::{
    admission::{Admission, ConnectionLimits},
    door::{Door, Guarded, Patience},
    drain::{Drain, Stage},
    last_call::last_call,
    metrics::ConnectionMetrics,
    stream::GuardedStream,
    watched::Watched,
};
