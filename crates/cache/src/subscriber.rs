//! Subscriber of the change feed that invalidates cache entries.
//!
//! A change of a single record invalidates the entries that depend on it. A change of a whole kind reloads the
//! listings that were used since they were inserted and drops the others; blocks drop every listing at once.

use crate::{
    entries::Entries,
    entry::ListingEntry,
    key::{Invalidation, Key},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Key as RecordKey, Kind},
    model::UserId,
    port::{ChangeBatch, Listings, Record, Records, Scheduler, StoreError, Subscriber},
    usecase::timeout,
};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// Number of listings read in one batch.
const RELOAD_BATCH: usize = 50;
/// Deadline for reloading the used listings after a change to many records. They stay valid until then; those not
/// reloaded in time are dropped.
const RELOAD_TIMEOUT: Duration = Duration::from_millis(500);
/// Above this number, changed subscriptions are handled as a change of their whole kind instead of one lookup each.
const MAX_SINGLE_LOOKUPS: usize = 100;

/// Invalidates entries according to the change feed.
pub(crate) struct CacheSubscriber {
    pub(crate) entries: Arc<Entries>,
    pub(crate) inner: Arc<dyn Listings>,
    pub(crate) records: Arc<dyn Records>,
    pub(crate) scheduler: Arc<dyn Scheduler>,
}

#[async_trait]
impl Subscriber for CacheSubscriber {
    fn name(&self) -> &'static str {
        "copies"
    }

    async fn receive(&self, batch: &ChangeBatch) -> Result<(), StoreError> {
        let ChangeBatch::Changes(changes) = batch else {
            return self.invalidate_kinds(&BTreeSet::from(Kind::ALL)).await;
        };
        let (mut keys, mut kinds) = (Vec::new(), BTreeSet::new());
        for change in changes {
            match Invalidation::of(&change.subject) {
                Some(Invalidation::Key(key)) => keys.push(key),
                Some(Invalidation::Every(kind)) => drop(kinds.insert(kind)),
                None => {}
            }
        }
        let subscribers: BTreeSet<_> = keys.iter().filter_map(subscriber).collect();
        self.entries.invalidate(keys);
        if subscribers.len() > MAX_SINGLE_LOOKUPS {
            kinds.insert(Kind::Subscription);
        } else {
            self.invalidate_named_guilds(&subscribers).await?;
        }
        self.invalidate_kinds(&kinds).await
    }
}

impl CacheSubscriber {
    /// Invalidates the guilds that changed subscriptions name now. The guilds they named before are known to the entries.
    async fn invalidate_named_guilds(&self, subscribers: &BTreeSet<UserId>) -> Result<(), StoreError> {
        for user in subscribers {
            match self.records.find(&RecordKey::Subscription(*user)).await {
                Ok(Some(Record::Subscription(subscription))) => {
                    self.entries.invalidate(subscription.guilds.as_slice().iter().copied().map(Key::Guild));
                }
                Ok(_) => {}
                Err(error) => {
                    // Any guild may have become premium.
                    self.entries.drop_all_listings();
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Invalidates everything of these kinds. Sessions and blocks take effect at once; other listings are reloaded first.
    async fn invalidate_kinds(&self, kinds: &BTreeSet<Kind>) -> Result<(), StoreError> {
        if kinds.contains(&Kind::Session) {
            self.entries.invalidate_all_sessions();
        }
        let concerned: Vec<_> = kinds.iter().filter(|kind| kind.is_listed()).collect();
        for kind in &concerned {
            self.entries.invalidate_kind(**kind);
        }
        if kinds.contains(&Kind::Blocked) {
            self.entries.drop_all_listings();
        } else if !concerned.is_empty() {
            let (mut used, unused): (Vec<_>, Vec<_>) =
                self.entries.all_listings().into_iter().partition(|(_, entry)| entry.is_used());
            self.entries.drop_listings(unused);
            let _ = timeout(&*self.scheduler, RELOAD_TIMEOUT, self.reload(&mut used)).await;
            // On timeout or failure, those not yet reloaded are dropped.
            self.entries.drop_listings(used);
        }
        Ok(())
    }

    /// Reloads these listings in batches, and removes those that were read.
    async fn reload(&self, listings: &mut Vec<(UserId, Arc<ListingEntry>)>) -> Result<(), StoreError> {
        while !listings.is_empty() {
            let position = self.entries.position();
            let rest = listings.len().saturating_sub(RELOAD_BATCH);
            let users: Vec<_> = listings.iter().skip(rest).map(|(user, _)| *user).collect();
            let read = self.inner.read_many(&users).await?;
            for (user, listing) in users.into_iter().zip(read) {
                self.entries.insert_listing(user, listing, position);
            }
            // Those that were inserted have replaced these. Those invalidated while loading have not.
            self.entries.drop_listings(listings.split_off(rest));
        }
        Ok(())
    }
}

/// Returns the user whose subscription a key is about.
const fn subscriber(key: &Key) -> Option<UserId> {
    if let Key::Subscriber(user) = key { Some(*user) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::change::{Change, Revision, Subject};
    use companion_testkit::{
        over::{Over, RecordsOver},
        use_cases::InMemory,
        world::user_id,
    };
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    /// Counts reads of single records.
    struct CountedRecords {
        inner: Arc<dyn Records>,
        count: AtomicUsize,
    }

    #[async_trait]
    impl RecordsOver for CountedRecords {
        fn records(&self) -> &dyn Records {
            &*self.inner
        }

        async fn find(&self, key: &RecordKey) -> Result<Option<Record>, StoreError> {
            self.count.fetch_add(1, SeqCst);
            self.inner.find(key).await
        }
    }

    #[tokio::test]
    async fn looks_up_at_most_100_subscriptions() {
        for (changed, looked_at) in [(MAX_SINGLE_LOOKUPS, MAX_SINGLE_LOOKUPS), (MAX_SINGLE_LOOKUPS + 1, 0)] {
            let ports = InMemory::new().ports;
            let asked =
                Arc::new(Over(CountedRecords { inner: ports.stores.records, count: AtomicUsize::new(0) }));
            let subscriber = CacheSubscriber {
                entries: Arc::new(Entries::new(1 << 20)),
                inner: ports.stores.stored_listings,
                records: asked.clone(),
                scheduler: ports.scheduler,
            };
            assert_eq!(subscriber.name(), "copies");
            let subjects = (1..).map(|user| Subject::Subscription(user_id(user))).take(changed);
            let changes = subjects.map(|subject| Change { revision: Revision::default(), subject }).collect();
            subscriber.receive(&ChangeBatch::Changes(changes)).await.unwrap();
            assert_eq!(asked.count.load(SeqCst), looked_at, "of {changed}");
        }
    }
}
