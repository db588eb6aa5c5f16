//! Entries behave as the store they stand for: alone, beside other nodes, while changes come in between, and when the store
//! falls silent.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on has failed")]

mod every_order;
mod interleavings;
mod listings;
mod node;
mod sessions;
mod trust;
