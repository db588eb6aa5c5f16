//! A code is exchanged for a session.

use crate::use_cases::{GUILD, HOUR, MINUTE, SECOND, Stage, USER};
use async_trait::async_trait;
use companion_domain::{
    port::{GuildDirectory, IdentityErrorKind, Record, StoreError},
    usecase::{SignInError, SignInRequest, SignedIn},
};
use companion_storage_memory::{CodeTerms, IdentityCall, MemoryStorage};
use companion_testkit::{
    over::{GuildDirectoryOver, Over},
    use_cases::{InMemory, Settings, settings},
    world::{a_guild, a_membership, a_user, an_ownership, user_id},
};
use std::{sync::Arc, time::Duration};
use tokio::task::JoinHandle;

#[tokio::test]
async fn a_code_yields_a_session_with_sealed_grant_and_list() {
    let stage = Stage::new();
    let signed_in = stage.signs_in(USER, vec![an_ownership(GUILD)]).await;
    let now = stage.memory.ports.clock.now();
    assert_eq!(signed_in.user, a_user(USER));
    assert_eq!(signed_in.session.id, signed_in.token.hash());
    assert_eq!((signed_in.session.created_at, signed_in.session.last_seen_at), (now, now));
    assert_eq!(stage.sessions().await, [signed_in.session]);
    let grant = stage.grant().await.unwrap();
    let list = grant.content.list.unwrap();
    assert_eq!((&*list.memberships, list.fetched_at), ([an_ownership(GUILD)].as_slice(), now));
    assert!(!grant.content.tokens.unwrap().as_bytes().windows(6).any(|bytes| bytes == b"access"));
}

impl Stage {
    /// Signs in in the background.
    fn signs_in_later(&self, request: SignInRequest) -> JoinHandle<Result<SignedIn, SignInError>> {
        let sign_in = Arc::clone(&self.use_cases.sign_in);
        tokio::spawn(async move { sign_in.sign_in(&request).await })
    }
}

/// A directory of guilds that cannot be read.
struct Unreadable(MemoryStorage);

#[async_trait]
impl GuildDirectoryOver for Unreadable {
    fn guilds(&self) -> &dyn GuildDirectory {
        &self.0
    }

    async fn before(&self) -> Result<(), StoreError> {
        Err(StoreError::unavailable("down"))
    }
}

#[tokio::test]
async fn no_sign_in_fails_for_the_names_of_guilds() {
    let mut memory = InMemory::new();
    let outside = Arc::new(Over(Unreadable(MemoryStorage::new())));
    memory.ports.stores = memory.ports.stores.clone().with_guilds(outside);
    let stage = Stage::over(memory, settings());
    stage.signs_in(USER, vec![an_ownership(GUILD)]).await;
    let list = stage.grant().await.unwrap().content.list.unwrap();
    assert_eq!((list.memberships.len(), list.without_bot.len()), (1, 0));
}

#[tokio::test]
async fn a_list_names_managed_guilds_that_lack_the_bot() {
    let stage = Stage::new();
    let records = &stage.use_cases.feed.records;
    records.put(Record::Guild(a_guild(GUILD))).await.unwrap();
    let named = async || {
        let list = stage.grant().await.unwrap().content.list.unwrap();
        list.without_bot
            .into_iter()
            .map(|named| (named.guild.get(), named.name.to_string()))
            .collect::<Vec<_>>()
    };
    let expected =
        |guilds: std::ops::Range<u64>| guilds.map(|id| (id, format!("Guild {id}"))).collect::<Vec<_>>();
    let mut guilds = vec![an_ownership(GUILD), a_membership(GUILD + 1)];
    guilds.extend((1000..1201).map(an_ownership));
    stage.signs_in(USER, guilds).await;
    assert_eq!(named().await, expected(1000..1200), "at most 200");

    records.put(Record::Guild(a_guild(1000))).await.unwrap();
    stage.memory.clock.advance(MINUTE);
    stage.list().await.unwrap();
    assert_eq!(named().await, expected(1001..1201), "as of the refresh");
}

#[tokio::test]
async fn refuses_a_used_code_without_a_call() {
    let stage = Stage::new();
    let request = stage.memory.arrival(a_user(USER), vec![]);
    stage.use_cases.sign_in.sign_in(&request).await.unwrap();
    for _ in 0..3 {
        let again = stage.use_cases.sign_in.sign_in(&request).await;
        assert!(matches!(again, Err(SignInError::CodeRefused)));
        stage.memory.clock.advance(3 * MINUTE);
    }
    assert_eq!(stage.memory.identity.calls(IdentityCall::Exchange), 1);
}

#[tokio::test]
async fn a_code_with_missing_scopes_is_spent_without_further_calls() {
    let stage = Stage::new();
    let session = stage.signs_in(USER, vec![]).await.session;
    let calls = || {
        [IdentityCall::User, IdentityCall::Guilds, IdentityCall::Revoke]
            .map(|call| stage.memory.identity.calls(call))
    };
    let before = calls();
    let terms = CodeTerms { scope: Some("identify".to_owned()), ..CodeTerms::default() };
    let mut request = stage.memory.request(user_id(USER));
    request.code = stage.memory.identity.issue_code_for(user_id(USER), terms).parse().unwrap();
    assert!(matches!(stage.use_cases.sign_in.sign_in(&request).await, Err(SignInError::ScopeMissing)));
    assert!(matches!(stage.use_cases.sign_in.sign_in(&request).await, Err(SignInError::CodeRefused)));
    stage.memory.scheduler.settled().await;
    assert_eq!((calls(), stage.memory.identity.is_authorised(user_id(USER))), (before, true));
    assert_eq!(stage.use_cases.sessions.of_user(user_id(USER)).await.unwrap(), [session]);
}

#[tokio::test]
async fn restores_a_code_unless_it_may_have_been_sent() {
    for (kind, is_spent) in [
        (IdentityErrorKind::Unreachable, false),
        (IdentityErrorKind::Limited(Duration::from_secs(5)), false),
        (IdentityErrorKind::TimedOut, true),
        (IdentityErrorKind::Failed, true),
    ] {
        let stage = Stage::new();
        let request = stage.memory.arrival(a_user(USER), vec![]);
        stage.memory.identity.fail_with(IdentityCall::Exchange, Some(kind));
        let failed = stage.use_cases.sign_in.sign_in(&request).await;
        assert!(matches!(failed, Err(SignInError::Identity(error)) if error.kind == kind));
        stage.memory.identity.fail_with(IdentityCall::Exchange, None);
        let again = stage.use_cases.sign_in.sign_in(&request).await;
        assert_eq!(matches!(again, Err(SignInError::CodeRefused)), is_spent, "{kind}");
        assert_eq!(again.is_ok(), !is_spent, "{kind}");
        let sent = stage.memory.identity.calls(IdentityCall::Exchange);
        assert_eq!(sent, if is_spent { 1 } else { 2 }, "{kind}");
    }
}

#[tokio::test]
async fn a_code_that_is_held_back_is_not_sent() {
    let stage = Stage::new();
    let request = stage.memory.arrival(a_user(USER), vec![]);
    stage.memory.identity.reject_exchanges(Some(MINUTE));
    for _ in 0..100 {
        let limited = stage.use_cases.sign_in.sign_in(&request).await;
        let expected = IdentityErrorKind::Limited(MINUTE);
        assert!(matches!(limited, Err(SignInError::Identity(error)) if error.kind == expected));
    }
    assert_eq!(stage.memory.identity.calls(IdentityCall::Exchange), 0);
    stage.memory.identity.reject_exchanges(None);
    assert!(stage.use_cases.sign_in.sign_in(&request).await.is_ok());
}

#[tokio::test]
async fn a_list_ages_from_its_request() {
    let stage = Stage::new();
    let request = stage.memory.arrival(a_user(USER), vec![an_ownership(GUILD)]);
    let asked_at = stage.memory.ports.clock.now();
    let hold = stage.memory.identity.hold(IdentityCall::User);
    let signing_in = stage.signs_in_later(request);
    stage.memory.identity.called(IdentityCall::User, 1).await;
    stage.memory.clock.advance(3 * SECOND);
    drop(hold);
    signing_in.await.unwrap().unwrap();
    let grant = stage.grant().await.unwrap();
    assert_eq!(grant.content.list.unwrap().fetched_at, asked_at);
}

#[tokio::test]
async fn without_kept_tokens_a_sign_in_requires_the_list() {
    for kind in [IdentityErrorKind::Failed, IdentityErrorKind::Limited(SECOND), IdentityErrorKind::TimedOut] {
        let stage = Stage::with(Settings { keep_tokens: false, ..settings() });
        stage.memory.identity.fail_with(IdentityCall::Guilds, Some(kind));
        let request = stage.memory.arrival(a_user(USER), vec![]);
        let failed = stage.use_cases.sign_in.sign_in(&request).await;
        assert!(matches!(failed, Err(SignInError::Identity(error)) if error.kind == kind), "{kind}");
        assert_eq!(stage.sessions().await, []);
        stage.memory.scheduler.settled().await;
        assert!(!stage.memory.identity.is_authorised(user_id(USER)), "what was granted is given back");
    }
}

#[tokio::test]
async fn a_sign_in_without_a_list_keeps_the_last_one() {
    for keep_tokens in [true, false] {
        let stage = Stage::with(Settings { keep_tokens, ..settings() });
        stage.signed_in().await;
        stage.memory.clock.advance(HOUR);
        stage.memory.identity.fail_with(IdentityCall::Guilds, Some(IdentityErrorKind::Failed));
        stage.signed_in().await;
        let listing = stage.list().await.unwrap();
        assert_eq!((listing.guilds().len(), listing.age), (1, HOUR));
        assert_eq!(stage.grant().await.unwrap().content.tokens.is_some(), keep_tokens);
    }
}

#[tokio::test]
async fn requests_the_list_after_a_slow_exchange_only_if_required() {
    for (keep_tokens, earlier, calls) in [(true, false, 0), (false, false, 1), (false, true, 1)] {
        let stage = Stage::with(Settings { keep_tokens, ..settings() });
        if earlier {
            stage.signed_in().await;
        }
        let request = stage.memory.arrival(a_user(USER), vec![]);
        let exchanged = stage.memory.identity.calls(IdentityCall::Exchange);
        let held = stage.memory.identity.hold(IdentityCall::Exchange);
        let signing_in = stage.signs_in_later(request);
        stage.memory.identity.called(IdentityCall::Exchange, exchanged + 1).await;
        stage.memory.clock.advance(SECOND);
        drop(held);
        assert!(signing_in.await.unwrap().is_ok());
        assert_eq!(stage.memory.identity.calls(IdentityCall::Guilds), calls, "an earlier list: {earlier}");
        assert!(stage.list().await.is_ok());
    }
}
