//! The cache behaves like the store behind it: alone, beside other nodes, under concurrent changes, and while the
//! store does not answer.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on has failed")]

mod every_order;
mod interleavings;
mod listings;
mod node;
mod sessions;
mod trust;
