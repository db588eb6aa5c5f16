//! Storage, from the port contracts down to what happens when the disk is full or the server goes away.
//!
//! `cargo xtask test` starts a PostgreSQL server for these tests; `cargo xtask postgres` starts one to try things against.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed, and says where")]
#![cfg(feature = "sqlite")]

#[cfg(feature = "postgres")]
mod postgres;
mod sample;
mod shared;
mod sqlite;
