//! The provider against the development identity provider, over real sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed, and says where")]

mod arrivals;
mod breaker;
mod budgets;
mod bulkhead;
mod canaries;
mod conformance;
mod faults;
mod flow;
mod limits;
mod odd_clients;
mod stage;
mod tls;
