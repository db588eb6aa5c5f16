//! The public API and what all APIs share, tested as clients see them, over in-memory adapters.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "the lint knows test functions, but not those that help them"
)]

mod auth;
mod feedback;
mod log;
mod patience;
mod pipelining;
mod reading;
mod requests;
mod settings;
mod sockets;
mod tls;

use companion_testkit::api::{captured_log, client, service};
