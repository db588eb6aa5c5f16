//! A store that pauses after everything it does and before its caller hears of it, so that others can come in between.

use crate::every_order::step;
use async_trait::async_trait;
use companion_domain::{
    change::{Changes, Revision, Tally},
    model::{Guild, GuildId, GuildSeen, Member, Subscription, Timestamp, UserId},
    port::{
        Asked, ChangeFeed, GuildDirectory, Listing, Listings, SessionStore, StoreError, Stores,
        SubscriptionStore,
    },
    session::{Cutoffs, Session, TokenHash, Uses},
};
use std::{num::NonZeroU32, sync::Arc};

/// A port with pauses.
struct Stepped<P: ?Sized>(Arc<P>);

/// These stores with pauses in everything that copies are made from or told by.
pub(crate) fn stepped(stores: &Stores) -> Stores {
    let listings = stores.listings();
    let mut stepped = Stores {
        changes: Arc::new(Stepped(stores.changes.clone())),
        guilds: Arc::new(Stepped(stores.guilds.clone())),
        sessions: Arc::new(Stepped(stores.sessions.clone())),
        subscriptions: Arc::new(Stepped(stores.subscriptions.clone())),
        ..stores.clone()
    };
    stepped.join_listings(Arc::new(Stepped(listings)));
    stepped
}

async fn paused<T>(work: impl Future<Output = T>) -> T {
    let done = work.await;
    step().await;
    done
}

#[async_trait]
impl Listings for Stepped<dyn Listings> {
    async fn read(&self, user: UserId, asked: Asked) -> Result<Arc<Listing>, StoreError> {
        paused(self.0.read(user, asked)).await
    }
}

#[async_trait]
impl ChangeFeed for Stepped<dyn ChangeFeed> {
    async fn latest(&self) -> Result<Revision, StoreError> {
        self.0.latest().await
    }

    async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
        paused(self.0.since(revision)).await
    }
}

#[async_trait]
impl GuildDirectory for Stepped<dyn GuildDirectory> {
    async fn seen_by(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildSeen>, StoreError> {
        self.0.seen_by(user, guilds).await
    }

    async fn find(&self, guild: GuildId) -> Result<Option<Arc<Guild>>, StoreError> {
        self.0.find(guild).await
    }

    async fn put(&self, guild: &Guild) -> Result<Tally, StoreError> {
        paused(self.0.put(guild)).await
    }

    async fn remove(&self, guild: GuildId) -> Result<Tally, StoreError> {
        paused(self.0.remove(guild)).await
    }

    async fn put_member(&self, member: &Member) -> Result<Option<Tally>, StoreError> {
        paused(self.0.put_member(member)).await
    }

    async fn remove_member(&self, guild: GuildId, user: UserId) -> Result<Option<Tally>, StoreError> {
        paused(self.0.remove_member(guild, user)).await
    }
}

#[async_trait]
impl SubscriptionStore for Stepped<dyn SubscriptionStore> {
    async fn of_user(&self, user: UserId) -> Result<Option<Arc<Subscription>>, StoreError> {
        paused(self.0.of_user(user)).await
    }

    async fn naming(&self, guilds: &[GuildId]) -> Result<Vec<Arc<Subscription>>, StoreError> {
        self.0.naming(guilds).await
    }

    async fn put(&self, subscription: &Subscription) -> Result<Tally, StoreError> {
        paused(self.0.put(subscription)).await
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        paused(self.0.remove(user)).await
    }
}

#[async_trait]
impl SessionStore for Stepped<dyn SessionStore> {
    async fn create(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
    ) -> Result<Vec<Session>, StoreError> {
        paused(self.0.create(session, cap, ended)).await
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        paused(self.0.find(id)).await
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        paused(self.0.touch(seen)).await
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        self.0.of_user(user).await
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        paused(self.0.revoke(id)).await
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        paused(self.0.expire(id, ended)).await
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        paused(self.0.revoke_user(user)).await
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        self.0.prune(ended, limit).await
    }

    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError> {
        self.0.rewind(now, limit).await
    }
}
