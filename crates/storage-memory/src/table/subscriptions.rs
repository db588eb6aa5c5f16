//! Premium subscriptions.

use crate::{
    journal::Index,
    keyed::{Table, removal_tally, set},
};
use companion_domain::{
    change::{Subject, Tally},
    model::{GuildId, Subscription, UserId},
};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// Subscriptions by user, and the users whose subscriptions name each guild.
#[derive(Default)]
pub(crate) struct Subscriptions {
    by_user: HashMap<UserId, Arc<Subscription>>,
    guild_subscriptions: Index<GuildId, UserId>,
}

impl Subscriptions {
    pub(crate) fn of_user(&self, user: UserId) -> Option<Arc<Subscription>> {
        self.by_user.get(&user).cloned()
    }

    fn take(&mut self, user: UserId) -> Option<Arc<Subscription>> {
        let subscription = self.by_user.remove(&user)?;
        for guild in subscription.guilds.as_slice() {
            self.guild_subscriptions.remove(guild, &user);
        }
        Some(subscription)
    }

    pub(crate) fn guild_subscriptions(&self, guilds: &[GuildId]) -> Vec<Arc<Subscription>> {
        let users: BTreeSet<_> = guilds.iter().flat_map(|guild| self.guild_subscriptions.of(guild)).collect();
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
            self.guild_subscriptions.insert(*guild, key);
        }
        set(&mut self.by_user, key, row);
        if earlier.is_some() { Tally::CHANGED } else { Tally::ADDED }
    }

    fn unset(&mut self, key: &UserId) -> Tally {
        removal_tally(self.take(*key))
    }

    fn subject(&self, key: &UserId) -> Subject {
        Subject::Subscription(*key)
    }
}
