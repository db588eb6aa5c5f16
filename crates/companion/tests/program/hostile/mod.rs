//! Bytes that nobody should send, over sockets: arbitrary ones, and requests that two readers would tell apart differently.

mod nginx;
mod raw;
mod smuggling;
