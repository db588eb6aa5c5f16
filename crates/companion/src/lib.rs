//! The Companion program: configuration, command line, and the place where adapters are chosen.
//!
//! This crate puts the others together. It must never decide what the domain decides (who may do what, what is listed)
//! nor what the HTTP crate decides (paths, codes, JSON); and nothing outside of [`composition`] and the demo knows which
//! adapter is used.
//!
//! | module | what lives there |
//! |---|---|
//! | [`configuration`] | the table of keys, its layers, and everything made from the table |
//! | [`composition`] | the choice of adapters, and the use cases on top of them |
//! | [`service`] | a service that runs, and how it ends |
//! | [`demo`] | a sample world on all the real parts |
//! | [`doctor`] | looks at an installation, and says what is wrong with it |
//! | [`command`] | the command line |
//! | [`supervisor`] | what systemd hands over and is told |
//! | [`system`], [`scheduler`], [`vault`] | the real clock, randomness and background, the sealing of tokens |
//!
//! To extend it: a key is a line in `configuration/keys.rs`, a command is a file in `command`, an adapter is an arm in
//! `composition`.
#![warn(missing_docs)]

pub mod command;
pub mod composition;
pub mod configuration;
pub mod demo;
pub mod doctor;
pub mod logging;
pub mod scheduler;
pub mod service;
pub mod supervisor;
pub mod system;
pub mod vault;

pub use service::Service;
