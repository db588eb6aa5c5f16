//! The implementation of each port: its statements, and the kind of their transactions.

mod fed;
mod grants;
mod platform;
mod reading;
mod sessions;
mod settings;
