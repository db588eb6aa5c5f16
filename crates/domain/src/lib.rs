//! The rules of Companion, and nothing else.
//!
//! This crate knows what a guild, a permission, a session or a status is, and what may be done with them. It must
//! never know how anything is stored, sent or shown: no database, no HTTP, no JSON, no runtime, no clock. Whatever it
//! needs from outside is a trait in [`port`].
//!
//! | module | what lives there |
//! |---|---|
//! | [`model`] | the things themselves, valid by construction |
//! | [`policy`] | the twenty permissions and the four roles |
//! | [`session`] | tokens and the life of a session |
//! | [`rules`] | what is listed, picked and reported, and in which order |
//! | [`change`] | the vocabulary of changes |
//! | [`port`] | what adapters implement; its page tells how to add one |
//! | [`request`] | the request on whose behalf something is done |
//! | [`usecase`] | what can be done, over the ports |
//!
//! To extend it: a new rule goes where its neighbours are, with a test that fails without it; a new need goes to
//! [`port`]; a new thing that callers can do becomes a struct in [`usecase`].
#![warn(missing_docs)]

pub mod change;
mod invalid;
pub mod model;
pub mod policy;
pub mod port;
pub mod request;
pub mod rules;
pub mod session;
pub mod usecase;
