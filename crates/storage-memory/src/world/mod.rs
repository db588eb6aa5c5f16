//! Everything at once: what a sync brings, an export, and forgetting a user.

mod about;
mod apply;
mod export;
mod forget;
mod staging;

pub(crate) use self::{about::about, export::Snapshot, forget::forget, staging::Staged};
