//! Writes of what the bot feeds.

use super::Told;
use crate::{copies::Copies, key::Key};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{Guild, GuildId, GuildSeen, Member, StaffGrants, Subscription, UserId},
    port::{
        BlockList, GuildDirectory, Record, RecordSink, RecordSource, Replace, StaffDirectory, StoreError,
        SubscriptionStore, SyncError, WorldStore,
    },
    usecase::Following,
};
use std::sync::Arc;

#[async_trait]
impl BlockList for Told<dyn BlockList> {
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        self.inner.is_blocked(user).await
    }

    async fn block(&self, user: UserId) -> Result<Tally, StoreError> {
        self.telling([Key::User(user)], self.inner.block(user)).await
    }

    async fn unblock(&self, user: UserId) -> Result<Tally, StoreError> {
        self.telling([Key::User(user)], self.inner.unblock(user)).await
    }
}

#[async_trait]
impl GuildDirectory for Told<dyn GuildDirectory> {
    async fn seen_by(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildSeen>, StoreError> {
        self.inner.seen_by(user, guilds).await
    }

    async fn find(&self, guild: GuildId) -> Result<Option<Arc<Guild>>, StoreError> {
        self.inner.find(guild).await
    }

    async fn put(&self, guild: &Guild) -> Result<Tally, StoreError> {
        self.telling([Key::Guild(guild.id)], self.inner.put(guild)).await
    }

    async fn remove(&self, guild: GuildId) -> Result<Tally, StoreError> {
        self.telling([Key::Guild(guild)], self.inner.remove(guild)).await
    }

    async fn put_member(&self, member: &Member) -> Result<Option<Tally>, StoreError> {
        self.telling([Key::User(member.user)], self.inner.put_member(member)).await
    }

    async fn remove_member(&self, guild: GuildId, user: UserId) -> Result<Option<Tally>, StoreError> {
        self.telling([Key::User(user)], self.inner.remove_member(guild, user)).await
    }
}

#[async_trait]
impl StaffDirectory for Told<dyn StaffDirectory> {
    async fn grants(&self, user: UserId) -> Result<Option<StaffGrants>, StoreError> {
        self.inner.grants(user).await
    }

    async fn put(&self, user: UserId, grants: StaffGrants) -> Result<Tally, StoreError> {
        self.telling([Key::User(user)], self.inner.put(user, grants)).await
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        self.telling([Key::User(user)], self.inner.remove(user)).await
    }
}

#[async_trait]
impl SubscriptionStore for Told<dyn SubscriptionStore> {
    async fn of_user(&self, user: UserId) -> Result<Option<Arc<Subscription>>, StoreError> {
        self.inner.of_user(user).await
    }

    async fn naming(&self, guilds: &[GuildId]) -> Result<Vec<Arc<Subscription>>, StoreError> {
        self.inner.naming(guilds).await
    }

    async fn put(&self, subscription: &Subscription) -> Result<Tally, StoreError> {
        let named = subscription.guilds.as_slice().iter().copied().map(Key::Guild);
        let keys = named.chain([Key::Subscriber(subscription.user)]);
        self.telling(keys, self.inner.put(subscription)).await
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        self.telling([Key::Subscriber(user)], self.inner.remove(user)).await
    }
}

/// The world, and the feed that leads the copies after a change to it.
pub(crate) struct ToldWorld {
    pub(crate) inner: Arc<dyn WorldStore>,
    pub(crate) copies: Arc<Copies>,
    pub(crate) following: Arc<Following>,
}

impl ToldWorld {
    async fn show(&self) {
        if self.following.catch_up().await.is_err() {
            self.copies.tell_every_session();
            self.copies.drop_all_listings();
        }
    }
}

#[async_trait]
impl WorldStore for ToldWorld {
    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Tally, SyncError> {
        let synced = self.inner.sync(replace, source).await;
        self.show().await;
        synced
    }

    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
        self.inner.export(sink).await
    }

    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError> {
        self.inner.about(user).await
    }

    async fn forget(&self, user: UserId) -> Result<Tally, StoreError> {
        let forgotten = self.inner.forget(user).await;
        self.show().await;
        forgotten
    }
}
