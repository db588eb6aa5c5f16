//! The management API and the OpenAPI document of both APIs, tested as clients see them, over in-memory adapters.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "the lint knows test functions, but not those that help them"
)]

mod answers;
mod audit;
mod change;
mod change_stream;
mod document;
mod input;
mod key;
mod metrics;
mod session;
mod settings;
mod stream;

use companion_testkit::api::{
    captured_log, client,
    request::{delete, put, sync},
    sample, service,
};
