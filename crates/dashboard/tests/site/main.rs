//! The dashboard as browsers see it, over every adapter in memory.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "the lint knows test functions, but not those that help them"
)]

mod browser;
mod devices;
mod errors;
mod forms;
mod guild;
mod guilds;
mod headers;
mod home;
mod live;
mod my_data;
mod sign_in;
mod status;
mod team;
