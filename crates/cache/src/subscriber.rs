//! Subscriber of the change feed. A change of a single record invalidates the entries that depend on it, unless they can
//! show what this process has put. A change of a whole kind invalidates everything that depends on that kind.

use crate::{
    entries::Entries,
    key::{Invalidation, Key},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Key as RecordKey, Kind},
    model::UserId,
    port::{ChangeBatch, Record, Records, StoreError, Subscriber},
};
use std::{collections::BTreeSet, sync::Arc};

/// Above this number, changed subscriptions are handled as a change of their whole kind instead of one lookup each.
const MAX_SINGLE_LOOKUPS: usize = 100;

/// Invalidates entries according to the change feed.
pub(crate) struct CacheSubscriber {
    pub(crate) entries: Arc<Entries>,
    pub(crate) records: Arc<dyn Records>,
}

#[async_trait]
impl Subscriber for CacheSubscriber {
    fn name(&self) -> &'static str {
        "copies"
    }

    async fn receive(&self, batch: &ChangeBatch) -> Result<(), StoreError> {
        let ChangeBatch::Changes(changes) = batch else {
            Kind::ALL.into_iter().for_each(|kind| self.entries.invalidate_kind(kind));
            return Ok(());
        };
        let (mut guilds, mut keys, mut kinds) = (Vec::new(), Vec::new(), BTreeSet::new());
        for change in changes {
            match Invalidation::of(&change.subject) {
                Some(Invalidation::Key(Key::Guild(guild))) => guilds.push((guild, change.revision)),
                Some(Invalidation::Key(key)) => keys.push(key),
                Some(Invalidation::Every(kind)) => drop(kinds.insert(kind)),
                None => {}
            }
        }
        let subscribers: BTreeSet<_> = keys.iter().filter_map(subscriber).collect();
        let are_looked_up = subscribers.len() <= MAX_SINGLE_LOOKUPS;
        if !are_looked_up {
            kinds.insert(Kind::Subscription);
        }
        self.entries.invalidate(keys);
        kinds.into_iter().for_each(|kind| self.entries.invalidate_kind(kind));
        let looked_up = if are_looked_up { self.invalidate_named_guilds(&subscribers).await } else { Ok(()) };
        // Last, so that no listing shows a put guild before another change of the same step.
        self.entries.change_guilds(&guilds);
        looked_up
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
                    self.entries.invalidate_kind(Kind::Subscription);
                    return Err(error);
                }
            }
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
            let subscriber =
                CacheSubscriber { entries: Arc::new(Entries::new(1 << 20)), records: asked.clone() };
            assert_eq!(subscriber.name(), "copies");
            let subjects = (1..).map(|user| Subject::Subscription(user_id(user))).take(changed);
            let changes = subjects.map(|subject| Change { revision: Revision::default(), subject }).collect();
            subscriber.receive(&ChangeBatch::Changes(changes)).await.unwrap();
            assert_eq!(asked.count.load(SeqCst), looked_at, "of {changed}");
        }
    }
}
