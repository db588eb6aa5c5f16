//! The documentation keeps its word: its commands work as they stand, its links lead somewhere, and the files to deploy with
//! are what the program understands.

mod capacity;
mod commands;
mod deployment;
mod links;
mod page;
pub(crate) mod proxy;
mod security;
