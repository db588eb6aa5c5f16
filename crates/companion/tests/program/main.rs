//! Tests of the binary as users run it, each in its own folder and environment.
//!
//! `cfg(test)` tells clippy that the shared helpers are test code too.

#![cfg(test)]

mod alerts;
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
