//! Conformance suites for every port of Companion, and controllable time and randomness for tests.
//!
//! This crate is for tests and must never be part of the program. It knows the domain and the memory adapters, but no
//! database and no network.
//!
//! | module | contents |
//! |---|---|
//! | [`conformance`] | the contract of every port, as tests that any adapter can run |
//! | [`clock`], [`entropy`], [`vault`], [`scheduler`] | repeatable adapters of the plain ports |
//! | [`world`] | one sample of each model, to be changed by struct update |
//! | [`use_cases`] | every use case over ports that can be replaced one by one |
//! | [`service`] | the use cases with both APIs, in process or on ports |
//! | [`over`] | ports over other ports, of which a test overrides single methods |
//! | [`hostile`] | damaged input |
//! | [`api`] | shared by the tests of the APIs: requests, responses, a store that fails on demand |
//!
//! To extend it: a new model gets a function in [`world`]; a new port gets a conformance suite.
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
