//! Premium subscriptions.

use crate::{
    state::MemoryStorage,
    table::{Table, gone, set},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Subject, Tally},
    model::{GuildId, Subscription, UserId},
    port::{StoreError, SubscriptionStore},
};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// Subscriptions by their user, and who names each guild.
#[derive(Default)]
pub(crate) struct Subscriptions {
    by_user: HashMap<UserId, Arc<Subscription>>,
    naming: HashMap<GuildId, BTreeSet<UserId>>,
}

impl Subscriptions {
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Subscription>> {
        self.by_user.values()
    }

    fn take(&mut self, user: UserId) -> Option<Arc<Subscription>> {
        let subscription = self.by_user.remove(&user)?;
        for guild in subscription.guilds.as_slice() {
            if let Some(users) = self.naming.get_mut(guild) {
                users.remove(&user);
                if users.is_empty() {
                    self.naming.remove(guild);
                }
            }
        }
        Some(subscription)
    }

    fn naming(&self, guilds: &[GuildId]) -> Vec<Arc<Subscription>> {
        let users: BTreeSet<_> = guilds.iter().filter_map(|guild| self.naming.get(guild)).flatten().collect();
        users.into_iter().filter_map(|user| self.by_user.get(user)).cloned().collect()
    }
}

impl Table for Subscriptions {
    type Key = UserId;
    type Row = Arc<Subscription>;

    fn keys(&self) -> Vec<UserId> {
        self.by_user.keys().copied().collect()
    }

    fn set(&mut self, key: UserId, row: Arc<Subscription>) -> Tally {
        if self.by_user.get(&key) == Some(&row) {
            return Tally::NOTHING;
        }
        let earlier = self.take(key);
        for guild in row.guilds.as_slice() {
            self.naming.entry(*guild).or_default().insert(key);
        }
        set(&mut self.by_user, key, row);
        if earlier.is_some() { Tally::CHANGED } else { Tally::ADDED }
    }

    fn unset(&mut self, key: &UserId) -> Tally {
        gone(self.take(*key))
    }

    fn subject(key: &UserId) -> Subject {
        Subject::Subscription(*key)
    }
}

#[async_trait]
impl SubscriptionStore for MemoryStorage {
    async fn of_user(&self, user: UserId) -> Result<Option<Arc<Subscription>>, StoreError> {
        Ok(self.read().subscriptions.by_user.get(&user).cloned())
    }

    async fn naming(&self, guilds: &[GuildId]) -> Result<Vec<Arc<Subscription>>, StoreError> {
        Ok(self.read().subscriptions.naming(guilds))
    }

    async fn put(&self, subscription: &Subscription) -> Result<Tally, StoreError> {
        let row = Arc::new(subscription.clone());
        Ok(self.write(|state, journal| state.subscriptions.put(row.user, row, journal)))
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.subscriptions.remove(&user, journal)))
    }
}
