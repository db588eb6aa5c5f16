//! Looks at a whole installation, and says of each part whether it is well, what is wrong, and what to do about it.
//!
//! It changes nothing: the database is read without making a log, and what is written to measure the disk is a file beside it
//! that is removed again. It goes on where something fails; a configuration with mistakes is followed as far as it goes. Every
//! question to someone else has a deadline, and those that do not need each other are asked at once.
//!
//! To add a check: a file here that gives [`Check`]s, and its place in `examination.rs`.

mod bot;
mod certificate;
mod check;
mod clock;
mod configuration;
mod credentials;
mod database;
mod examination;
mod files;
mod installation;
mod listeners;
mod preflight;
mod provider;
mod redirects;
mod report;
mod write;

pub use self::{
    check::{Check, Status},
    examination::examine,
    report::Report,
};
