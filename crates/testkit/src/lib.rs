//! Conformance suites for every port of Companion, and what tests need to hold time and chance in their hands.
//!
//! This crate serves tests and must never be part of the program. It knows the domain and the memory adapters, and
//! no database and no network.
//!
//! | module | what lives there |
//! |---|---|
//! | [`conformance`] | what every port promises, as tests that any adapter can run |
//! | [`clock`], [`entropy`], [`vault`], [`scheduler`] | the plain ports, repeatable |
//! | [`world`] | a guild, a user, a session …: one of each, to be changed by struct update |
//! | [`use_cases`] | every use case over ports that can be exchanged one by one |
//! | [`service`] | the same with both APIs around it, in process or on ports |
//! | [`over`] | ports over other ports, of which a test overrides one method |
//! | [`hostile`] | input that nobody should send |
//! | [`api`] | what the tests of the APIs share: requests, answers, a store that can be told to fail |
//!
//! To extend it: a new model gets a function in [`world`]; a new port gets a conformance
//! suite.
#![warn(missing_docs)]

pub mod api;
pub mod clock;
pub mod conformance;
pub mod entropy;
pub mod hostile;
pub mod over;
pub mod scheduler;
pub mod service;
pub mod use_cases;
pub mod vault;
pub mod world;
