//! What stands between a listener and its application: how many may connect, and how long a connection may make us wait.
//!
//! The server itself has a deadline for the first head of a connection and for no other. Here every head has one, and so has
//! every client that does not read its answers; heads have a length, and no address can take all connections. A connection
//! looks at itself once in a while instead of setting a timer for each request: that costs a request nothing.

mod admission;
mod ahead;
mod connection;
mod door;
mod drain;
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
