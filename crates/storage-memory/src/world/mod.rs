//! Everything at once: what a sync brings, an export, and forgetting a user.

mod apply;
mod export;
mod forget;
mod staging;

pub(crate) use self::{export::Snapshot, forget::forget, staging::Staged};
