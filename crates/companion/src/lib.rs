//! The Companion program: configuration, command line and composition root.
//!
//! This crate assembles the others. It must not decide what the domain decides (permissions, listings) or what the HTTP
//! crate decides (paths, status codes, JSON). Only [`composition`] chooses adapters.
//!
//! | module | contents |
//! |---|---|
//! | [`configuration`] | the table of keys, its layers, and everything generated from the table |
//! | [`composition`] | chooses the adapters and builds the use cases on them |
//! | [`service`] | a running service: start and graceful shutdown |
//! | [`demo`] | a sample world on the real components |
//! | [`doctor`] | checks an installation and reports problems |
//! | [`command`] | the command line |
//! | [`ProgramError`] | the error of everything above |
//! | [`supervisor`] | socket activation and notifications of systemd |
//! | [`system`], [`scheduler`], [`vault`] | the real clock, randomness and background tasks; encryption of tokens |
//!
//! To extend it: a key is a line in `configuration/keys.rs`, a command is a file in `command`, an adapter is an arm in
//! `composition`.
#![warn(missing_docs)]

pub mod command;
pub mod composition;
pub mod configuration;
pub mod demo;
pub mod doctor;
mod error;
pub mod logging;
pub mod scheduler;
pub mod service;
pub mod supervisor;
pub mod system;
pub mod vault;

pub use error::ProgramError;
pub use service::Service;
