//! The program as its users run it: the binary itself, in a folder and an environment of its own.
//!
//! `cfg(test)` tells the linter that all of this is tests, what they share included.

#![cfg(test)]

mod browser;
mod config;
mod crowds;
mod demo;
#[cfg(target_os = "linux")]
mod disk;
mod doctor;
#[cfg(target_os = "linux")]
mod documented;
#[cfg(target_os = "linux")]
mod hostile;
mod http;
mod installation;
mod isolation;
mod kill;
#[cfg(target_os = "linux")]
mod long;
mod metrics;
mod mistakes;
#[cfg(target_os = "linux")]
mod overload;
mod postgres;
mod program;
mod serve;
mod sessions;
mod sign_in;
mod stage;
mod stop;
mod stored;
#[cfg(target_os = "linux")]
mod strangers;
