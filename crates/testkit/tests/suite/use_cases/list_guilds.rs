//! A user sees the guilds that the user manages and that have the bot. An unreadable grant affects no other user.

use crate::use_cases::{GUILD, HOUR, INSTANT, MINUTE, SECOND, Stage, USER};
use async_trait::async_trait;
use companion_domain::{
    change::Key,
    model::{Timestamp, UserId},
    port::{
        Clock as _, Grant, GrantContent, GrantStore, IdentityErrorKind, Listing, ListingScope, Listings,
        Record, StoreError, StoreErrorKind, Stores,
    },
    usecase::{ListGuildsError, Resealed},
};
use companion_storage_memory::IdentityCall;
use companion_testkit::{
    conformance::prepared::{granted, remove_grants},
    over::{GrantStoreOver, ListingsOver, Over},
    use_cases::{InMemory, Settings, settings},
    world::{a_guild, a_user, an_ownership, guild_id, user_id},
};
use std::{num::NonZeroU32, sync::Arc, time::Duration};

#[tokio::test]
async fn fed_data_shows_at_once() {
    let stage = Stage::new();
    stage.signed_in().await;
    stage.use_cases.feed.records.remove(Key::Guild(guild_id(GUILD))).await.unwrap();
    assert_eq!(stage.list().await.unwrap().guilds(), []);
    stage.put(Record::Guild(a_guild(GUILD))).await;
    assert_eq!(stage.list().await.unwrap().guilds().len(), 1);
}

#[tokio::test]
async fn refreshes_a_list_once_it_is_a_minute_old() {
    let stage = Stage::new();
    stage.signed_in().await;
    stage.memory.identity.put_user(a_user(USER), vec![]);
    stage.memory.clock.advance(MINUTE - SECOND);
    let fresh = stage.list().await.unwrap();
    assert_eq!((fresh.guilds().len(), fresh.age), (1, MINUTE - SECOND));
    assert_eq!(stage.memory.identity.calls(IdentityCall::Guilds), 1);
    stage.memory.clock.advance(SECOND);
    let fetched = stage.list().await.unwrap();
    assert_eq!((fetched.guilds().len(), fetched.age), (0, Duration::ZERO));
    stage.memory.clock.advance(SECOND);
    let kept = stage.list().await.unwrap();
    assert_eq!((kept.guilds().len(), kept.age), (0, SECOND));
    assert_eq!(stage.memory.identity.calls(IdentityCall::Guilds), 2);
}

#[tokio::test]
async fn serves_the_last_list_up_to_a_day_while_the_platform_fails() {
    for kind in [
        IdentityErrorKind::Unreachable,
        IdentityErrorKind::TimedOut,
        IdentityErrorKind::Failed,
        IdentityErrorKind::Limited(SECOND),
    ] {
        let stage = Stage::new();
        stage.signed_in().await;
        stage.memory.identity.fail_with(IdentityCall::Guilds, Some(kind));
        stage.memory.clock.advance(24 * HOUR - MINUTE);
        let stale = stage.list().await.unwrap();
        assert_eq!((stale.guilds().len(), stale.age), (1, 24 * HOUR - MINUTE), "{kind}");
        stage.memory.clock.advance(MINUTE);
        let refused = stage.list().await;
        let Err(ListGuildsError::NoList { retry_after, .. }) = refused else {
            panic!("{kind}: {refused:?}");
        };
        assert_eq!(retry_after, SECOND, "{kind}");
        stage.memory.identity.fail_with(IdentityCall::Guilds, None);
        stage.memory.clock.advance(MINUTE);
        assert_eq!(stage.list().await.unwrap().age, Duration::ZERO);
    }
}

#[tokio::test]
async fn without_kept_tokens_the_list_ages_from_the_sign_in() {
    let stage = Stage::with(Settings { keep_tokens: false, ..settings() });
    stage.signed_in().await;
    stage.memory.clock.advance(48 * HOUR);
    let listing = stage.list().await.unwrap();
    assert_eq!((listing.guilds().len(), listing.age), (1, 48 * HOUR));
    assert_eq!(stage.memory.identity.calls(IdentityCall::Guilds), 1);
}

#[tokio::test]
async fn a_blocked_user_is_refused_without_platform_calls() {
    let stage = Stage::signed_in_since(MINUTE).await;
    stage.put(Record::Blocked(user_id(USER))).await;
    let refused = stage.list().await;
    assert!(matches!(refused, Err(ListGuildsError::Blocked(user)) if user == user_id(USER)));
    assert_eq!(stage.memory.identity.calls(IdentityCall::Guilds), 1);
}

#[tokio::test]
async fn a_list_tolerates_clock_skew_but_not_a_clock_reset() {
    for (ahead, calls) in [(5 * MINUTE, 1), (5 * MINUTE + INSTANT, 2), (3 * HOUR, 2)] {
        let stage = Stage::new();
        stage.signed_in().await;
        stage.memory.clock.set(stage.memory.clock.now().before(ahead));
        for _ in 0..2 {
            let listing = stage.list().await.unwrap();
            assert_eq!((listing.guilds().len(), listing.age), (1, Duration::ZERO), "{ahead:?}");
        }
        assert_eq!(stage.memory.identity.calls(IdentityCall::Guilds), calls, "{ahead:?}");
    }
    // In an outage such a list is not shown. Without kept tokens no newer one can be fetched, so it is shown as very old.
    for keep_tokens in [true, false] {
        let stage = Stage::with(Settings { keep_tokens, ..settings() });
        stage.signed_in().await;
        stage.memory.identity.fail_with(IdentityCall::Guilds, Some(IdentityErrorKind::Unreachable));
        stage.memory.clock.set(stage.memory.clock.now().before(HOUR));
        match stage.list().await {
            Ok(listing) => assert_eq!((keep_tokens, listing.age), (false, Timestamp::LONG_AGO)),
            Err(refused) => assert!(keep_tokens && matches!(refused, ListGuildsError::NoList { .. })),
        }
    }
}

#[tokio::test]
async fn the_first_request_ends_sessions_without_a_usable_grant() {
    for is_removed in [true, false] {
        let stage = Stage::with(Settings { keep_tokens: is_removed, ..settings() });
        let (one, other) = (stage.signed_in().await, stage.signed_in().await);
        let stores = &stage.memory.ports.stores;
        if is_removed {
            remove_grants(stores).await;
        } else {
            granted(stores, user_id(USER), &GrantContent::default()).await;
        }
        let bystander = stage.signs_in(USER + 1, vec![]).await;
        let mut told = Vec::new();
        for _ in 0..3 {
            match stage.list().await {
                Err(ListGuildsError::WithoutGrant(ended)) => told.extend(ended),
                answered => panic!("{answered:?}"),
            }
        }
        told.sort_by_key(|session| session.id);
        let mut sessions = [one.session, other.session];
        sessions.sort_by_key(|session| session.id);
        assert_eq!((told, stage.grant().await), (sessions.to_vec(), None));
        assert!(stage.use_cases.authenticate.authenticate(one.token.expose()).await.is_err());
        assert!(stage.use_cases.authenticate.authenticate(bystander.token.expose()).await.is_ok());
    }
}

/// Fails to read the default user's grant.
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

    async fn read(&self, user: UserId, asked: ListingScope) -> Result<Arc<Listing>, StoreError> {
        let listing = self.listings().read(user, asked).await?;
        if user == user_id(USER) && !listing.blocked {
            return Err(StoreError::corrupt("on purpose"));
        }
        Ok(listing)
    }
}

#[tokio::test]
async fn an_unreadable_grant_ends_no_session_and_affects_no_other_user() {
    let mut memory = InMemory::new();
    let unreadable = Arc::new(Over(Unreadable(memory.ports.stores.clone())));
    memory.ports.stores.grants = unreadable.clone();
    memory.ports.stores.stored_listings = unreadable;
    let stage = Stage::over(memory, settings());
    let signed_in = stage.signs_in(USER, vec![an_ownership(GUILD)]).await;
    stage.signs_in(USER + 1, vec![]).await;
    let refused = stage.list().await;
    assert!(matches!(refused, Err(ListGuildsError::Store(error)) if error.kind == StoreErrorKind::Corrupt));
    assert!(stage.use_cases.authenticate.authenticate(signed_in.token.expose()).await.is_ok());
    let resealed = stage.use_cases.reseal.reseal(|_| ()).await.unwrap();
    assert_eq!(resealed, Resealed { untouched: 1, corrupt: 1, ..Resealed::default() });

    for user in [USER, USER + 1] {
        stage.memory.ports.stores.sessions.revoke_user(user_id(user)).await.unwrap();
    }
    let round = stage.use_cases.revoke_unused.round(None, NonZeroU32::MAX).await.unwrap();
    assert_eq!(round, None);
    let is_authorised = |user| stage.memory.identity.is_authorised(user_id(user));
    assert_eq!([USER, USER + 1].map(is_authorised), [true, false]);
    let tally = stage.use_cases.forget.forget(user_id(USER)).await.unwrap().tally;
    assert_eq!((tally.removed, stage.grant().await), (1, None));

    stage.put(Record::Blocked(user_id(USER))).await;
    let refused = stage.list().await;
    assert!(matches!(refused, Err(ListGuildsError::Blocked(user)) if user == user_id(USER)), "{refused:?}");
}
