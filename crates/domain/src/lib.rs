//! The domain of Companion: models, rules, ports and use cases.
//!
//! This crate knows what a guild, a permission, a session or a status is, and what may be done with them. It must
//! never know how anything is stored, sent or shown: no database, no HTTP, no runtime, no clock, and no JSON but that of
//! settings. Everything
//! it needs from outside is a trait in [`port`].
//!
//! | module | contents |
//! |---|---|
//! | [`model`] | value types and entities, valid by construction |
//! | [`policy`] | the twenty permissions and the four roles |
//! | [`session`] | tokens and the life of a session |
//! | [`settings`] | what a bot lets people set, and how a change is decided |
//! | [`rules`] | what is listed, picked and reported, and in which order |
//! | [`change`] | the vocabulary of changes |
//! | [`port`] | traits that adapters implement; its page explains how to add one |
//! | [`request`] | the request on whose behalf work is done |
//! | [`usecase`] | operations over the ports |
//!
//! To extend it: a new rule goes beside its neighbours, with a test that fails without it. A new dependency on the
//! outside becomes a trait in [`port`]. A new operation for callers becomes a struct in [`usecase`].
#![warn(missing_docs)]

pub mod change;
mod invalid;
pub mod model;
mod named;
pub mod policy;
pub mod port;
pub mod request;
pub mod rules;
pub mod session;
pub mod settings;
pub mod usecase;
