//! Entries of what is stored, for what is asked often: sessions, and everything that a user's listing is made of.
//!
//! [`Cache::around`] puts itself around all storage ports at once. Take it away and everything still works, only slower.
//!
//! - A copy is made when someone asks for it, and is told of every change by the feed. What a change has overtaken while it
//!   was being loaded is not kept. What was written through these ports is seen through them at once.
//! - Sessions and rights count for a second after the feed was last asked; later a request waits a moment for the feed, and
//!   for ten seconds the copies stand in for a store that does not answer.
//! - A listing is copied as it was read in one step, so an answer never mixes what was with what is.
//! - That a session was used is gathered here and written from time to time: [`Cache::write_uses`].

mod change_log;
mod changed_listing;
mod entries;
mod entry;
mod guilds;
mod intern;
mod key;
mod listings;
mod second_poll;
mod sessions;
mod subscriber;
mod trust;
mod uses;
mod weight;
mod writers;

pub use self::entries::CacheStatistics;

use self::{
    entries::{Entries, Shares},
    listings::{CachedListings, Reader},
    sessions::CachedSessions,
    subscriber::CacheSubscriber,
    trust::Trust,
    uses::PendingUses,
    writers::{Invalidating, InvalidatingSignIns},
};
use companion_domain::{
    port::{Ports, SessionStore, StoreError},
    usecase::{ChangeDispatcher, SingleFlight},
};
use std::{sync::Arc, time::Duration};

/// How a cache behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSettings {
    /// About how much memory all copies may take, in bytes.
    pub memory: u64,
    /// How much later than it is written a session may have been used, on any node.
    pub use_lag: Duration,
}

/// The copies of one process.
pub struct Cache {
    entries: Arc<Entries>,
    uses: Arc<PendingUses>,
    sessions: Arc<dyn SessionStore>,
}

impl Cache {
    /// Puts copies between whoever uses these ports and their stores. They are led by `following`, and follow before anyone
    /// who is added to it later.
    pub fn around(ports: &mut Ports, dispatcher: &Arc<ChangeDispatcher>, settings: CacheSettings) -> Self {
        let CacheSettings { memory, use_lag } = settings;
        let entries = Arc::new(Entries::new(Shares::of(memory)));
        let uses = Arc::new(PendingUses::default());
        let (inner, scheduler) = (ports.stores.clone(), &ports.scheduler);
        let progress = dispatcher.add(Arc::new(CacheSubscriber {
            entries: entries.clone(),
            inner: inner.stored_listings.clone(),
            records: inner.records.clone(),
            scheduler: scheduler.clone(),
        }));
        let trust = Trust { dispatcher: dispatcher.clone(), progress, scheduler: scheduler.clone() };
        let sessions = Arc::new(CachedSessions {
            inner: inner.sessions.clone(),
            entries: entries.clone(),
            trust: trust.clone(),
            uses: uses.clone(),
            lag: use_lag,
            loads: SingleFlight::default(),
        });
        let reader = Reader { inner: inner.stored_listings.clone(), entries: entries.clone(), trust };
        let stores = &mut ports.stores;
        stores.grants = Invalidating::new(&inner.grants, &entries);
        stores.sign_ins =
            Arc::new(InvalidatingSignIns { inner: inner.sign_ins.clone(), sessions: sessions.clone() });
        stores.sessions = sessions;
        stores.stored_listings = Arc::new(CachedListings { reader, loads: SingleFlight::default() });
        Self { entries, uses, sessions: inner.sessions }
    }

    /// Writes which sessions were used since the last time, in batches. What cannot be written is written the next time.
    pub async fn write_uses(&self) -> Result<(), StoreError> {
        self.uses.write(&*self.sessions).await
    }

    /// What the copies amount to now.
    #[must_use]
    pub fn statistics(&self) -> [CacheStatistics; 3] {
        self.entries.statistics()
    }
}
