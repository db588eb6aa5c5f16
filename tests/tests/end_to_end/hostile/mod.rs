//! What nobody should send: damaged records, streams, configurations and requests. Everything is taken or refused as
//! promised, nothing panics, and nothing is kept.
//!
//! The usual run is small. `HOSTILE=100` takes the full numbers, and another number so many percent of them.

mod configurations;
mod memory;
mod records;
mod requests;
