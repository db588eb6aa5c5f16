//! Both APIs as clients see them: in process or over sockets, over a store that can fail.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "an unexpected value fails the test"
)]
#![expect(missing_docs, reason = "for our own tests; most names are self-explanatory")]

pub mod captured_log;
pub mod client;
pub mod request;
pub mod sample;
pub mod service;
