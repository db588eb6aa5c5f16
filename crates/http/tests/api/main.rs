//! Both APIs as their callers see them, over every adapter in memory.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "the lint knows test functions, but not those that help them"
)]

mod answer;
mod auth;
mod bodies;
mod client;
mod clock;
mod cors;
mod document;
mod eventually;
mod every_answer;
mod every_management_answer;
mod faulty;
mod feedback;
mod flood;
mod guilds;
mod late;
mod listening;
mod log;
mod management;
mod paths;
mod protocol_errors;
mod refused_codes;
mod request_ids;
mod service;
mod sign_out;
mod sockets;
mod status;
mod team;
mod unread_bodies;
