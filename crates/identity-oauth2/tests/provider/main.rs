//! The provider against the development identity provider, over real sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed, and says where")]

mod breaker;
mod faults;
mod flow;
mod limits;
mod stage;
mod tls;
