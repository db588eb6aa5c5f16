//! The tables: plain data with plain methods.

pub(crate) mod feedback;
pub(crate) mod grants;
pub(crate) mod guilds;
pub(crate) mod history;
pub(crate) mod sessions;
pub(crate) mod spent_codes;
pub(crate) mod subscriptions;
