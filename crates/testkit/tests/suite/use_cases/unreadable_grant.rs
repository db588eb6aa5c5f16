//! A grant that cannot be read stands in nobody's way but its user's.

use crate::use_cases::{GUILD, Stage, USER};
use async_trait::async_trait;
use companion_domain::{
    model::UserId,
    port::{Asked, Grant, GrantStore, Listing, Listings, Record, StoreError, StoreErrorKind, Stores},
    usecase::{ListGuildsError, Resealed, Round},
};
use companion_testkit::{
    over::{GrantStoreOver, ListingsOver, Over},
    use_cases::{InMemory, settings},
    world::{an_ownership, user_id},
};
use std::{num::NonZeroU32, sync::Arc};

/// Cannot read the usual user's grant.
struct Unreadable(Stores);

#[async_trait]
impl GrantStoreOver for Unreadable {
    fn grants(&self) -> &dyn GrantStore {
        &*self.0.grants
    }

    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError> {
        if user == user_id(USER) {
            return Err(StoreError::corrupt("on purpose"));
        }
        self.0.grants.find(user).await
    }
}

#[async_trait]
impl ListingsOver for Unreadable {
    fn listings(&self) -> &dyn Listings {
        &*self.0.stored_listings
    }

    async fn read(&self, user: UserId, asked: Asked) -> Result<Arc<Listing>, StoreError> {
        let listing = self.listings().read(user, asked).await?;
        if user == user_id(USER) && !listing.blocked {
            return Err(StoreError::corrupt("on purpose"));
        }
        Ok(listing)
    }
}

impl Stage {
    /// A stage whose store cannot read the usual user's grant.
    fn with_unreadable_grant() -> Self {
        let mut memory = InMemory::new();
        let unreadable = Arc::new(Over(Unreadable(memory.ports.stores.clone())));
        memory.ports.stores.grants = unreadable.clone();
        memory.ports.stores.stored_listings = unreadable;
        Self::over(memory, settings())
    }
}

#[tokio::test]
async fn its_user_is_shown_nothing_and_keeps_the_session() {
    let stage = Stage::with_unreadable_grant();
    let signed_in = stage.signs_in(USER, vec![an_ownership(GUILD)]).await;
    let refused = stage.use_cases.list_guilds.list(user_id(USER)).await;
    assert!(matches!(refused, Err(ListGuildsError::Store(error)) if error.kind == StoreErrorKind::Corrupt));
    assert!(stage.use_cases.authenticate.authenticate(signed_in.token.expose()).await.is_ok());
}

#[tokio::test]
async fn its_user_is_told_of_a_block_all_the_same() {
    let stage = Stage::with_unreadable_grant();
    stage.signs_in(USER, vec![an_ownership(GUILD)]).await;
    stage.memory.ports.stores.records.put(Record::Blocked(user_id(USER))).await.unwrap();
    let refused = stage.use_cases.list_guilds.list(user_id(USER)).await;
    assert!(matches!(refused, Err(ListGuildsError::Blocked(user)) if user == user_id(USER)), "{refused:?}");
}

#[tokio::test]
async fn its_user_can_be_forgotten() {
    let stage = Stage::with_unreadable_grant();
    stage.signs_in(USER, vec![]).await;
    let tally = stage.use_cases.forget.forget(user_id(USER)).await.unwrap().tally;
    assert_eq!(tally.removed, 2, "the session and the grant");
    assert_eq!(GrantStore::find(&*stage.memory.storage, user_id(USER)).await.unwrap(), None);
}

#[tokio::test]
async fn the_others_are_sealed_again() {
    let stage = Stage::with_unreadable_grant();
    for user in [USER, USER + 1] {
        stage.signs_in(user, vec![]).await;
    }
    let resealed = stage.use_cases.reseal.reseal(|_| ()).await.unwrap();
    assert_eq!(resealed, Resealed { untouched: 1, corrupt: 1, ..Resealed::default() });
}

#[tokio::test]
async fn the_others_are_given_back() {
    let stage = Stage::with_unreadable_grant();
    for user in [USER, USER + 1] {
        stage.signs_in(user, vec![]).await;
        stage.memory.ports.stores.sessions.revoke_user(user_id(user)).await.unwrap();
    }
    let round = stage.use_cases.give_back.round(None, NonZeroU32::MAX).await.unwrap();
    assert_eq!(round, Round::Done);
    assert!(stage.memory.identity.is_authorised(user_id(USER)));
    assert!(!stage.memory.identity.is_authorised(user_id(USER + 1)));
}
