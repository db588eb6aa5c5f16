//! Both APIs as clients see them: in process or over sockets, over a store that can fail.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that gets something else than it expects has to fail"
)]
#![expect(missing_docs, reason = "these serve our own tests, and most of their names say it all")]

pub mod captured_log;
pub mod client;
pub mod request;
pub mod sample;
pub mod service;
