//! Read-through cache of sessions and of everything that a user's listing is made of.
//!
//! [`Cache::around`] wraps the ports of sessions, grants, sign-ins, listings and records. The service works without it,
//! only slower.
//!
//! - An entry is loaded on demand and invalidated by the change feed. A load that a change invalidates while it is in
//!   flight is not inserted. A write through these ports is visible through them at once.
//! - Entries are fresh for one second after the feed was last polled. Later, a request waits briefly for the feed. If
//!   the store does not answer, stale entries are served for up to ten seconds.
//! - A listing is cached as it was read in one atomic step, so an answer never mixes old and new state.
//! - Uses of sessions are buffered and written periodically: [`Cache::write_uses`].

mod entries;
mod entry;
mod guilds;
mod key;
mod listings;
mod sessions;
mod subscriber;
mod trust;
mod uses;
mod writers;

pub use self::entries::CacheStatistics;

use self::{
    entries::Entries,
    listings::CachedListings,
    sessions::CachedSessions,
    subscriber::CacheSubscriber,
    trust::Trust,
    writers::{InvalidatingGrants, InvalidatingSignIns, NotingRecords},
};
use companion_domain::{
    port::{Ports, StoreError},
    usecase::{ChangeDispatcher, SingleFlight},
};
use std::{sync::Arc, time::Duration};

/// Settings of a [`Cache`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSettings {
    /// Memory limit of all entries and what is rendered from them, in bytes. Approximate.
    pub memory: u64,
    /// Upper bound on how long a use of a session stays unwritten, on any node.
    pub use_lag: Duration,
}

/// The cache of one process.
pub struct Cache(Arc<CachedSessions>);

impl Cache {
    /// Wraps the storage ports and subscribes to `dispatcher`. Subscribers that are added later receive a change
    /// after the cache did.
    pub fn around(ports: &mut Ports, dispatcher: &Arc<ChangeDispatcher>, settings: CacheSettings) -> Self {
        let CacheSettings { memory, use_lag } = settings;
        let entries = Arc::new(Entries::new(memory));
        let (inner, scheduler) = (ports.stores.clone(), &ports.scheduler);
        let progress = dispatcher
            .add(Arc::new(CacheSubscriber { entries: entries.clone(), records: inner.records.clone() }));
        let trust = Trust { dispatcher: dispatcher.clone(), progress, scheduler: scheduler.clone() };
        let sessions = Arc::new(CachedSessions {
            inner: inner.sessions.clone(),
            entries: entries.clone(),
            trust: trust.clone(),
            uses: Arc::default(),
            lag: use_lag,
            loads: SingleFlight::default(),
        });
        let stores = &mut ports.stores;
        stores.stored_listings = Arc::new(CachedListings {
            inner: inner.stored_listings.clone(),
            entries: entries.clone(),
            trust,
            loads: SingleFlight::default(),
        });
        stores.records = Arc::new(NotingRecords { inner: inner.records.clone(), entries: entries.clone() });
        stores.grants = Arc::new(InvalidatingGrants { inner: inner.grants.clone(), entries });
        stores.sign_ins =
            Arc::new(InvalidatingSignIns { inner: inner.sign_ins.clone(), sessions: sessions.clone() });
        stores.sessions = sessions.clone();
        Self(sessions)
    }

    /// Writes the buffered uses of sessions, in batches. What cannot be written stays buffered.
    pub async fn write_uses(&self) -> Result<(), StoreError> {
        self.0.uses.write(&*self.0.inner).await
    }

    /// Returns the size and the hit counts of each kind of entry.
    #[must_use]
    pub fn statistics(&self) -> [CacheStatistics; 3] {
        self.0.entries.statistics()
    }
}
