//! Storage tests, from port conformance to full disks and lost servers.
//!
//! `cargo xtask test` starts a PostgreSQL server for these tests; `cargo xtask postgres` starts one for manual use.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed, and says where")]

mod postgres;
mod sample;
mod shared;
mod sqlite;
