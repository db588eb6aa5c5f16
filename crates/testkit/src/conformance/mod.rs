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
//! | `spent_codes_conformance!`, `health_conformance!` … | one port, named like its module here |
//! | [`identity_provider_conformance!`](crate::identity_provider_conformance) | a provider, and its platform |
//!
//! The suites of ports that write alone use only that port, so an adapter of one port can run its own. Sessions and
//! grants are written by [`sign_ins`], and data from the bot through [`records`], so the suites of ports over them need
//! all of [`Stores`].
//!
//! To add a behaviour: write an async function named after it, and add the name to the list at the top of its module. A
//! function missing from the list is dead code, which the compiler reports.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic fails the behaviour and names the line")]

#[macro_use]
mod suite;
mod concurrency;
mod fresh;
mod sample;

pub mod bot_telemetry;
pub mod change_feed;
pub mod entropy;
pub mod feedback_store;
pub mod grant_store;
pub mod guild_directory;
pub mod identity_provider;
pub mod listings;
pub mod platform_pauses;
pub mod prepared;
pub mod records;
pub mod scheduler;
pub mod session_store;
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
    fresh::{Damage, Fresh, Gate},
    suite::{Behaviour, run},
};

/// Generates one test per behaviour of every storage port, and of the relations between them. Takes an expression,
/// which may await, that returns a `Fresh<Stores>`.
#[macro_export]
macro_rules! storage_conformance {
    ($fresh:expr $(,)?) => {
        async fn storage() -> $crate::conformance::Fresh<$crate::conformance::Stores> {
            $fresh
        }

        $crate::bot_telemetry_conformance!(storage().await);
        $crate::change_feed_conformance!(storage().await);
        $crate::feedback_store_conformance!(storage().await);
        $crate::grant_store_conformance!(storage().await);
        $crate::guild_directory_conformance!(storage().await);
        $crate::health_conformance!(storage().await.port(|stores| &stores.health));
        $crate::listings_conformance!(storage().await);
        $crate::records_conformance!(storage().await);
        $crate::session_store_conformance!(storage().await);
        $crate::settings_store_conformance!(storage().await);
        $crate::sign_ins_conformance!(storage().await);
        $crate::spent_codes_conformance!(storage().await.port(|stores| &stores.spent_codes));
        $crate::status_history_conformance!(storage().await);
        $crate::team_roster_conformance!(storage().await);
    };
}

/// The contract of [`Health`](companion_domain::port::Health). A failing store is covered by the adapter's own tests,
/// which alone can make it fail.
pub mod health {
    use super::Fresh;
    use companion_domain::port::Health;

    suite! {
        /// Generates one test per behaviour of `Health`.
        health_conformance($): health, dyn Health;
        a_working_store_is_healthy_at_every_check,
    }

    async fn a_working_store_is_healthy_at_every_check(fresh: &Fresh<Port>) {
        fresh.concurrently(|_, health| async move { health.check().await.unwrap() }).await;
        fresh.one.check().await.unwrap();
    }
}
