//! Conformance suites: for each port, everything that its documentation promises, one behaviour at a time.
//!
//! A suite knows nothing of the adapter under test. It gets a [`Fresh`] adapter for every behaviour, and uses only the
//! port. An adapter crate runs a suite with three lines, which generate one test per behaviour:
//!
//! ```
//! use companion_testkit::conformance::{Fresh, Stores};
//! # use companion_storage_memory::MemoryStorage;
//! # use std::sync::Arc;
//! companion_testkit::storage_conformance! {
//!     Fresh::new(Arc::new(Stores::of(&Arc::new(MemoryStorage::new()))))
//! }
//! # fn main() {}
//! ```
//!
//! | macro | needs |
//! |---|---|
//! | [`storage_conformance!`](crate::storage_conformance) | all storage ports over one store: [`Stores`] |
//! | `session_store_conformance!`, `grant_store_conformance!` … | one port, named like its module here |
//! | [`identity_provider_conformance!`](crate::identity_provider_conformance) | a provider, and control of its platform
//! |
//!
//! The suites of ports that write use only that port, so an adapter of one port can run its own. Data from the bot is
//! written through [`records`], so the suites of ports that read it need all of [`Stores`].
//!
//! To add a behaviour: write an async function named after it, and add the name to the list at the top of its module.
//! Append `needs Gating` or `needs Damaging` if it cannot observe anything without that hook. A function missing from
//! the list is dead code, which the compiler reports; a hook used without being named fails the behaviour.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic fails the behaviour and names the line")]

#[macro_use]
mod suite;
mod concurrency;
mod fresh;
mod sample;
mod storage;

pub mod bot_telemetry;
pub mod change_feed;
pub mod entropy;
pub mod feedback_store;
pub mod grant_store;
pub mod guild_directory;
pub mod health;
pub mod identity_provider;
pub mod listings;
pub mod platform_pauses;
pub mod records;
pub mod scheduler;
pub mod session_store;
pub mod sessions_and_grants;
pub mod settings_store;
pub mod sign_ins;
pub mod spent_codes;
pub mod status_history;
pub mod stream;
pub mod team_roster;
pub mod vault;

pub use companion_domain::port::Stores;

pub use self::{
    concurrency::CALLERS,
    fresh::{Damage, Fresh, Gate, Needs},
    suite::{Behaviour, not_looked_at, run, tell_what_is_not_looked_at},
};

/// Every suite, by the name of its module.
pub const SUITES: [&str; 20] = [
    "bot_telemetry",
    "change_feed",
    "entropy",
    "feedback_store",
    "grant_store",
    "guild_directory",
    "health",
    "identity_provider",
    "listings",
    "platform_pauses",
    "records",
    "scheduler",
    "session_store",
    "sessions_and_grants",
    "settings_store",
    "sign_ins",
    "spent_codes",
    "status_history",
    "team_roster",
    "vault",
];
