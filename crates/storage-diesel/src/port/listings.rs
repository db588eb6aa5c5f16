//! Everything that a user's listing is made of.

use crate::{
    connection::AnyConnection,
    failure::Failure,
    storage::DieselStorage,
    table::{blocked, grants, guilds, staff, subscriptions, unreadable::Unreadable},
};
use async_trait::async_trait;
use companion_domain::{
    model::UserId,
    port::{Asked, GrantSummary, Listing, Listings, StoreError},
};
use std::sync::Arc;

#[async_trait]
impl Listings for DieselStorage {
    async fn read(&self, user: UserId, asked: Asked) -> Result<Arc<Listing>, StoreError> {
        let unreadable = self.unreadable();
        self.snapshot(move |db| read(db, user, asked, &unreadable)).await
    }

    async fn read_many(&self, users: &[UserId]) -> Result<Vec<Arc<Listing>>, StoreError> {
        let (unreadable, users) = (self.unreadable(), users.to_vec());
        self.snapshot(move |db| users.iter().map(|user| read(db, *user, Asked::List, &unreadable)).collect())
            .await
    }
}

fn read(
    db: &mut AnyConnection,
    user: UserId,
    asked: Asked,
    unreadable: &Unreadable,
) -> Result<Arc<Listing>, Failure> {
    let blocked = blocked::is_blocked(db, user)?;
    let grant = match grants::find(db, user, unreadable) {
        Err(Failure::Row(_)) if blocked => None,
        found => found?.map(GrantSummary::from),
    };
    let asked = asked.guilds(grant.as_ref());
    Ok(Arc::new(Listing {
        blocked,
        guilds: guilds::seen_by(db, user, &asked, unreadable)?,
        naming: subscriptions::naming(db, &asked, unreadable)?,
        subscription: subscriptions::of_user(db, user, unreadable)?,
        staff: staff::grants(db, user, unreadable)?.unwrap_or_default(),
        grant,
    }))
}
