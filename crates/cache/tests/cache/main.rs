//! Copies behave as the store they stand for: alone, beside other nodes, while changes come in between, and when the store
//! falls silent.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on has failed")]

mod at_hand;
mod conformance;
mod ended;
mod every_order;
mod interleavings;
mod many;
mod node;
mod one_guild;
mod outside;
mod own_writes;
mod sign_ins;
mod stepped;
mod trust;
mod uses;
