//! The dashboard, tested as browsers see it, over in-memory adapters.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "the lint knows test functions, but not those that help them"
)]

mod account;
mod answers;
mod browser;
mod live;
mod pages;
mod settings;
mod sign_in;
mod status;
