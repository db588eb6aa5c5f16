//! Everything that a user's listing is made of.

use crate::state::MemoryStorage;
use async_trait::async_trait;
use companion_domain::{
    model::UserId,
    port::{Asked, GrantSummary, Listing, Listings, StoreError},
};
use std::sync::Arc;

#[async_trait]
impl Listings for MemoryStorage {
    async fn read(&self, user: UserId, asked: Asked) -> Result<Arc<Listing>, StoreError> {
        let state = self.read();
        let grant = state.grants.find(user).map(GrantSummary::from);
        let asked = asked.guilds(grant.as_ref());
        Ok(Arc::new(Listing {
            blocked: state.blocked.get(&user).is_some(),
            guilds: state.guilds.seen_by(user, &asked),
            naming: state.subscriptions.naming(&asked),
            subscription: state.subscriptions.of_user(user),
            staff: state.staff.get(&user).copied().unwrap_or_default(),
            grant,
        }))
    }
}
