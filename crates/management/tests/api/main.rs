//! The management API, and the OpenAPI document of both, as their callers see them, over every adapter in memory.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "the lint knows test functions, but not those that help them"
)]

mod audit;
mod audit_shape;
mod change;
mod change_stream;
mod cluster;
mod document;
mod every_management_answer;
mod every_public_answer;
mod guesses;
mod health;
mod key;
mod look_up;
mod metrics;
mod mistake;
mod path;
mod reference;
mod scope;
mod session;
mod stream;
mod stream_socket;
mod visible;

use companion_testkit::api::{
    answer, captured_log, client, eventually, faulty, listening, refusing,
    request::{delete, put, sync},
    sample, service,
};
