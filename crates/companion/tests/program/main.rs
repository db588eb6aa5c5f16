//! The program as its users run it: the binary itself, in a folder and an environment of its own.
//!
//! `cfg(test)` tells the linter that all of this is tests, what they share included.

#[cfg(test)]
mod browser;
#[cfg(test)]
mod config;
#[cfg(test)]
mod crowds;
#[cfg(test)]
mod demo;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod disk;
#[cfg(test)]
mod doctor;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod documented;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(test)]
mod http;
#[cfg(test)]
mod installation;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod kill;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod long;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod overload;
#[cfg(test)]
mod postgres;
#[cfg(test)]
mod program;
#[cfg(test)]
mod serve;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod sign_in;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod stop;
#[cfg(test)]
mod stored;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod strangers;
