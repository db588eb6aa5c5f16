//! The public API, and what every API shares, as their callers see them, over every adapter in memory.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "the lint knows test functions, but not those that help them"
)]

mod auth;
mod bodies;
mod clock;
mod cors;
mod feedback;
mod feedback_loading;
mod flood;
mod guilds;
mod late;
mod log;
mod paths;
mod patience;
mod pipelining;
mod protocol_errors;
mod refused_codes;
mod request_ids;
mod sign_out;
mod sockets;
mod status;
mod team;
mod tls;
mod unread_bodies;

use companion_testkit::api::{
    answer, captured_log, client, eventually, faulty, listening, refusing, request, sample, service,
};
