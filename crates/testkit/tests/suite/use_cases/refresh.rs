//! Lists and tokens are refreshed by one caller at a time, also over a failing store.

use crate::use_cases::{DAY, GUILD, INSTANT, MINUTE, SECOND, Stage, USER};
use async_trait::async_trait;
use companion_domain::{
    model::{GuildList, Timestamp, UserId},
    port::{
        ClaimAfter, Claimed, GrantContent, GrantStore, GrantVersion, IdentityErrorKind, StoreError,
        StoreErrorKind,
    },
    usecase::{GuildListing, ListGuildsError},
};
use companion_storage_memory::{Held, IdentityCall};
use companion_testkit::{
    clock::FixedClock,
    conformance::prepared::granted,
    over::{GrantStoreOver, Over},
    use_cases::{InMemory, Ports, UseCases, settings},
    vault::TestVault,
    world::{an_ownership, user_id},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{task::JoinHandle, time::Instant};

type Refreshing = JoinHandle<Result<GuildListing, ListGuildsError>>;

impl Stage {
    fn list_in_background(&self) -> Refreshing {
        let list_guilds = Arc::clone(&self.use_cases.list_guilds);
        tokio::spawn(async move { list_guilds.list(user_id(USER)).await })
    }

    /// Creates a stage where a request refreshes a list that is a minute old, and the platform delays it.
    async fn held_in_a_refresh() -> (Self, Refreshing, Held) {
        let stage = Self::signed_in_since(MINUTE).await;
        let held = stage.memory.identity.hold(IdentityCall::Guilds);
        let refreshing = stage.list_in_background();
        stage.memory.identity.called(IdentityCall::Guilds, 2).await;
        (stage, refreshing, held)
    }

    /// Leaves the claim of a node that died during a refresh.
    async fn dies_with_a_claim_until(&self, until: Timestamp) {
        let version = self.grant().await.unwrap().version;
        let claimed = self.memory.storage.claim_refresh(user_id(USER), version, until, None).await;
        assert_eq!(claimed.unwrap(), Claimed::Granted);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_one_second_for_a_refresh_that_continues() {
    let stage = Stage::signed_in_since(MINUTE).await;
    let held = stage.memory.identity.hold(IdentityCall::Guilds);
    let began = Instant::now();
    assert_eq!(stage.list().await.unwrap().age, MINUTE, "the last list");
    assert_eq!(began.elapsed(), SECOND);
    drop(held);
    stage.memory.scheduler.settled().await;
    assert_eq!(stage.list().await.unwrap().age, Duration::ZERO);
    assert_eq!(stage.memory.identity.calls(IdentityCall::Guilds), 2);
}

#[tokio::test(start_paused = true)]
async fn waits_for_the_refresh_of_another_node() {
    let (stage, refreshing, held) = Stage::held_in_a_refresh().await;
    let began = Instant::now();
    let elsewhere = stage.another_node().list_guilds;
    assert_eq!(elsewhere.list(user_id(USER)).await.unwrap().age, MINUTE, "the last list");
    assert!((SECOND / 2..=SECOND).contains(&began.elapsed()), "{:?}", began.elapsed());
    let waiting = tokio::spawn(async move { elsewhere.list(user_id(USER)).await });
    drop(held);
    assert_eq!(waiting.await.unwrap().unwrap().age, Duration::ZERO);
    assert_eq!(refreshing.await.unwrap().unwrap().age, Duration::ZERO);
    assert_eq!(stage.memory.identity.calls(IdentityCall::Guilds), 2);
}

#[tokio::test(start_paused = true)]
async fn fails_without_a_list_until_one_arrives() {
    let stage = Stage::new();
    stage.memory.identity.fail_with(IdentityCall::Guilds, Some(IdentityErrorKind::Failed));
    stage.signed_in().await;
    stage.memory.identity.fail_with(IdentityCall::Guilds, None);
    let held = stage.memory.identity.hold(IdentityCall::Guilds);
    for node in [&stage.use_cases, &stage.another_node()] {
        let refused = node.list_guilds.list(user_id(USER)).await;
        assert!(matches!(refused, Err(ListGuildsError::NoList { retry_after: SECOND, .. })));
    }
    drop(held);
    assert_eq!(stage.list().await.unwrap().guilds().len(), 1);
    assert_eq!(stage.memory.identity.calls(IdentityCall::Guilds), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_refresh_does_not_delay_other_nodes() {
    let stage = Stage::signed_in_since(MINUTE).await;
    stage.memory.identity.fail_with(IdentityCall::Guilds, Some(IdentityErrorKind::TimedOut));
    let began = Instant::now();
    assert_eq!(stage.list().await.unwrap().age, MINUTE);
    assert_eq!(stage.list().await.unwrap().age, MINUTE);
    assert_eq!(stage.memory.identity.calls(IdentityCall::Guilds), 2);
    stage.memory.identity.fail_with(IdentityCall::Guilds, None);
    let elsewhere = stage.another_node().list_guilds;
    assert_eq!(elsewhere.list(user_id(USER)).await.unwrap().age, Duration::ZERO);
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(stage.list().await.unwrap().age, Duration::ZERO, "what another node got counts here too");
}

#[tokio::test]
async fn retries_a_failing_platform_after_a_pause() {
    for (kind, pause) in
        [(IdentityErrorKind::TimedOut, 5 * SECOND), (IdentityErrorKind::Limited(20 * SECOND), 20 * SECOND)]
    {
        let stage = Stage::signed_in_since(MINUTE).await;
        stage.memory.identity.fail_with(IdentityCall::Guilds, Some(kind));
        for _ in 0..5 {
            stage.list().await.unwrap();
            stage.memory.clock.advance(pause / 5);
            assert_eq!(stage.memory.identity.calls(IdentityCall::Guilds), 2, "{kind}");
        }
        stage.list().await.unwrap();
        assert_eq!(stage.memory.identity.calls(IdentityCall::Guilds), 3, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_node_delays_only_the_next_refresh() {
    let stage = Stage::signed_in_since(MINUTE).await;
    stage.dies_with_a_claim_until(stage.memory.ports.clock.now().after(30 * SECOND)).await;
    assert_eq!(stage.list().await.unwrap().age, MINUTE);
    stage.memory.clock.advance(30 * SECOND - INSTANT);
    assert_eq!(stage.list().await.unwrap().age, MINUTE + 30 * SECOND - INSTANT);
    stage.memory.clock.advance(INSTANT);
    assert_eq!(stage.list().await.unwrap().age, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_claim_beyond_the_clock_skew_blocks_no_refresh() {
    let (claim, skew) = (30 * SECOND, 5 * MINUTE);
    for (ahead, ago, calls) in [
        (claim + skew, Duration::ZERO, 1),
        (claim + skew + INSTANT, Duration::ZERO, 2),
        (DAY, Duration::ZERO, 2),
        (Duration::ZERO, Duration::ZERO, 1),
        (Duration::ZERO, skew, 1),
        (Duration::ZERO, skew + INSTANT, 2),
        (Duration::ZERO, DAY, 2),
    ] {
        let stage = Stage::signed_in_since(MINUTE).await;
        stage.dies_with_a_claim_until(stage.memory.ports.clock.now().after(ahead).before(ago)).await;
        stage.list().await.unwrap();
        let asked = stage.memory.identity.calls(IdentityCall::Guilds);
        assert_eq!(asked, calls, "{ahead:?} ahead, {ago:?} ago");
    }
}

#[tokio::test(start_paused = true)]
async fn nodes_with_clock_skew_never_refresh_concurrently() {
    for other_is_ahead in [true, false] {
        let (stage, refreshing, held) = Stage::held_in_a_refresh().await;
        let now = stage.memory.ports.clock.now();
        let skewed = if other_is_ahead { now.after(4 * MINUTE) } else { now.before(4 * MINUTE) };
        let clock = Arc::new(FixedClock::at(skewed));
        let ports = Ports { clock: clock.clone(), ..stage.memory.ports.clone() };
        let elsewhere = UseCases::new(&ports, settings()).list_guilds;
        for _ in 0..3 {
            assert!(elsewhere.list(user_id(USER)).await.is_ok(), "the last list");
            clock.advance(SECOND);
        }
        assert_eq!(stage.memory.identity.calls(IdentityCall::Guilds), 2);
        drop(held);
        assert!(refreshing.await.unwrap().is_ok());
    }
}

/// Requests every second for a while, and returns how often the platform was asked for a list and for tokens.
async fn polled(stage: &Stage, seconds: u32) -> [u64; 2] {
    let calls =
        || [IdentityCall::Guilds, IdentityCall::Refresh].map(|call| stage.memory.identity.calls(call));
    let [lists, tokens] = calls();
    for _ in 0..seconds {
        assert!(matches!(stage.list().await, Ok(_) | Err(ListGuildsError::NoList { .. })));
        stage.memory.clock.advance(SECOND);
    }
    let [more_lists, more_tokens] = calls();
    [more_lists - lists, more_tokens - tokens]
}

#[tokio::test]
async fn a_grant_rejected_twice_is_not_retried_until_it_changes() {
    // An access token that is known to have expired is renewed before it is rejected.
    let expired = Stage::signed_in_since(7 * DAY).await;
    expired.memory.identity.fail_with(IdentityCall::Guilds, Some(IdentityErrorKind::TokenRefused));
    assert_eq!(polled(&expired, 30).await, [2, 1]);

    let stage = Stage::new();
    stage.signed_in().await;
    stage.memory.identity.fail_with(IdentityCall::Guilds, Some(IdentityErrorKind::TokenRefused));
    stage.memory.clock.advance(MINUTE);
    assert_eq!(polled(&stage, 30).await, [2, 1]);
    assert_eq!(stage.list().await.unwrap().age, MINUTE + 30 * SECOND, "the last list");
    stage.memory.clock.advance(DAY);
    assert!(matches!(stage.list().await, Err(ListGuildsError::NoList { .. })));
    assert_eq!(polled(&stage, 30).await, [0, 0]);
    assert_eq!(stage.sessions().await.len(), 1, "no session ends by it");

    // A new sign-in brings a new grant, and another attempt.
    stage.memory.identity.fail_with(IdentityCall::Guilds, None);
    stage.signed_in().await;
    stage.memory.clock.advance(MINUTE);
    assert_eq!(stage.list().await.unwrap().age, Duration::ZERO);
}

#[tokio::test]
async fn a_rejected_token_is_not_resent_while_renewal_fails() {
    let stage = Stage::new();
    stage.signed_in().await;
    stage.memory.identity.expire_access(user_id(USER));
    stage.memory.identity.fail_with(IdentityCall::Refresh, Some(IdentityErrorKind::Failed));
    stage.memory.clock.advance(MINUTE);
    assert_eq!(polled(&stage, 30).await, [1, 6], "renewals are tried again every five seconds");
    assert_eq!(stage.sessions().await.len(), 1, "no session ends by it");
    stage.memory.identity.fail_with(IdentityCall::Refresh, None);
    assert_eq!(stage.list().await.unwrap().age, Duration::ZERO);
}

#[tokio::test]
async fn a_successful_renewal_clears_the_rejection() {
    let stage = Stage::new();
    stage.signed_in().await;
    for _ in 0..5 {
        stage.memory.identity.expire_access(user_id(USER));
        for _ in 0..2 {
            stage.memory.clock.advance(MINUTE);
            assert_eq!(stage.list().await.unwrap().age, Duration::ZERO);
        }
    }
    assert_eq!(stage.memory.identity.calls(IdentityCall::Refresh), 5, "each is renewed once");
}

#[tokio::test]
async fn stores_rotated_tokens_before_using_them() {
    let stage = Stage::signed_in_since(7 * DAY).await;
    let before = stage.grant().await.unwrap();
    let held = stage.memory.identity.hold(IdentityCall::Guilds);
    let refreshing = stage.list_in_background();
    stage.memory.identity.called(IdentityCall::Guilds, 2).await;
    let during = stage.grant().await.unwrap();
    assert!(during.version > before.version);
    assert_ne!(during.content.tokens, before.content.tokens);
    assert_eq!(during.content.list, before.content.list);
    // The list request fails, but the tokens are not lost.
    stage.memory.identity.fail_with(IdentityCall::Guilds, Some(IdentityErrorKind::Failed));
    drop(held);
    assert!(matches!(refreshing.await.unwrap(), Err(ListGuildsError::NoList { .. })));
    stage.memory.identity.fail_with(IdentityCall::Guilds, None);
    stage.memory.clock.advance(5 * SECOND);
    assert_eq!(stage.list().await.unwrap().age, Duration::ZERO);
    assert_eq!(stage.memory.identity.calls(IdentityCall::Refresh), 1);
}

#[tokio::test]
async fn a_grant_replaced_meanwhile_ends_no_session() {
    let stage = Stage::new();
    stage.signed_in().await;
    stage.memory.identity.end_authorisation(user_id(USER));
    stage.memory.clock.advance(MINUTE);
    let held = stage.memory.identity.hold(IdentityCall::Refresh);
    let refreshing = stage.list_in_background();
    stage.memory.identity.called(IdentityCall::Refresh, 1).await;
    stage.signed_in().await;
    let replaced = stage.grant().await;
    drop(held);
    assert_eq!(refreshing.await.unwrap().unwrap().age, Duration::ZERO);
    assert_eq!((stage.sessions().await.len(), stage.grant().await), (2, replaced));
}

#[tokio::test]
async fn a_late_list_does_not_overwrite_a_new_sign_in() {
    let (stage, refreshing, held) = Stage::held_in_a_refresh().await;
    // What a sign-in on another node writes.
    let fetched_at = stage.memory.ports.clock.now();
    let list = GuildList { memberships: [].into(), without_bot: Vec::new(), fetched_at };
    let newest = GrantContent { list: Some(list), ..stage.grant().await.unwrap().content };
    granted(&stage.memory.ports.stores, user_id(USER), &newest).await;
    drop(held);
    assert_eq!(refreshing.await.unwrap().unwrap().guilds(), []);
    assert_eq!(stage.grant().await.unwrap().content, newest);
}

#[tokio::test]
async fn unopenable_tokens_are_reported_and_end_no_session() {
    let stage = Stage::new();
    stage.signed_in().await;
    stage.memory.clock.advance(MINUTE);
    let failed = stage.with_keys(TestVault::new(2)).list_guilds.list(user_id(USER)).await;
    assert!(matches!(failed, Err(ListGuildsError::Store(error)) if error.kind == StoreErrorKind::Corrupt));
    assert_eq!(stage.sessions().await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_waiter_receives_the_sessions_ended_with_the_grant() {
    let stage = Stage::new();
    let signed_in = stage.signed_in().await;
    let bystander = stage.signs_in(USER + 1, vec![an_ownership(GUILD)]).await;
    stage.memory.identity.end_authorisation(user_id(USER));
    stage.memory.clock.advance(MINUTE);
    let held = stage.memory.identity.hold(IdentityCall::Refresh);
    let waiting = [stage.list_in_background(), stage.list_in_background(), stage.list_in_background()];
    stage.memory.identity.called(IdentityCall::Refresh, 1).await;
    drop(held);
    let mut told = Vec::new();
    for listing in waiting {
        match listing.await.unwrap() {
            Err(ListGuildsError::SignedOut(ended)) => told.extend(ended),
            answered => panic!("{answered:?}"),
        }
    }
    assert_eq!(told, [signed_in.session]);
    assert_eq!((stage.sessions().await.len(), stage.grant().await), (0, None));
    assert!(stage.use_cases.authenticate.authenticate(bystander.token.expose()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn counts_each_attempt_once_by_outcome() {
    let (stage, refreshing, held) = Stage::held_in_a_refresh().await;
    let waiting = stage.list_in_background();
    drop(held);
    for listing in [refreshing, waiting] {
        assert_eq!(listing.await.unwrap().unwrap().age, Duration::ZERO);
    }
    let limited = IdentityErrorKind::Limited(SECOND);
    for failure in [limited, IdentityErrorKind::Failed, IdentityErrorKind::TimedOut] {
        stage.memory.clock.advance(MINUTE);
        stage.memory.identity.fail_with(IdentityCall::Guilds, Some(failure));
        stage.list().await.unwrap();
        stage.list().await.unwrap();
    }
    let counts = stage.use_cases.list_guilds.refresh.counts().into_iter().filter(|(_, count)| *count > 0);
    assert_eq!(counts.collect::<Vec<_>>(), [("stored", 1), ("limited", 1), ("failed", 2)]);
}

#[tokio::test(start_paused = true)]
async fn keeps_ended_sessions_without_waiter_for_the_audit_log() {
    let stage = Stage::new();
    let signed_in = stage.signed_in().await;
    stage.memory.identity.end_authorisation(user_id(USER));
    stage.memory.clock.advance(MINUTE);
    let held = stage.memory.identity.hold(IdentityCall::Refresh);
    assert_eq!(stage.list().await.unwrap().age, MINUTE, "it waited for a second, and no longer");
    assert_eq!(stage.use_cases.list_guilds.drain_unaudited_ends(), []);
    drop(held);
    stage.memory.scheduler.settled().await;
    assert_eq!(stage.sessions().await.len(), 0);
    assert_eq!(stage.use_cases.list_guilds.drain_unaudited_ends(), [signed_in.session]);
    assert_eq!(stage.use_cases.list_guilds.drain_unaudited_ends(), []);
}

/// Fails to update grants this many times.
struct Stumbling {
    inner: Arc<dyn GrantStore>,
    failures: AtomicU32,
}

#[async_trait]
impl GrantStoreOver for Stumbling {
    fn grants(&self) -> &dyn GrantStore {
        &*self.inner
    }

    async fn update(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
        claim: ClaimAfter,
    ) -> Result<GrantVersion, StoreError> {
        let left = self.failures.load(Relaxed);
        if left > 0 {
            self.failures.store(left - 1, Relaxed);
            return Err(StoreError::unavailable("on purpose"));
        }
        self.inner.update(user, version, content, claim).await
    }
}

impl Stage {
    /// Creates a stage whose store fails to update grants this often.
    fn stumbling(failures: u32) -> Self {
        let mut memory = InMemory::new();
        let inner = memory.ports.stores.grants.clone();
        memory.ports.stores.grants = Arc::new(Over(Stumbling { inner, failures: failures.into() }));
        Self::over(memory, settings())
    }
}

#[tokio::test(start_paused = true)]
async fn rotated_tokens_survive_transient_store_failures() {
    let stage = Stage::stumbling(3);
    stage.signed_in().await;
    stage.memory.identity.expire_access(user_id(USER));
    stage.memory.clock.advance(MINUTE);
    assert_eq!(stage.list().await.unwrap().age, MINUTE, "it takes longer than a request waits");
    stage.memory.scheduler.settled().await;
    assert_eq!(stage.list().await.unwrap().age, Duration::ZERO);
    assert_eq!(stage.memory.identity.calls(IdentityCall::Refresh), 1);
}

#[tokio::test(start_paused = true)]
async fn a_crash_before_storing_tokens_costs_that_user_one_sign_in() {
    let stage = Stage::stumbling(4);
    stage.signed_in().await;
    let bystander = stage.signs_in(USER + 1, vec![an_ownership(GUILD)]).await;
    stage.memory.identity.expire_access(user_id(USER));
    stage.memory.clock.advance(MINUTE);
    assert_eq!(stage.list().await.unwrap().age, MINUTE);
    stage.memory.scheduler.settled().await;
    assert_eq!(stage.sessions().await.len(), 1, "no session ends before the platform has revoked the grant");
    stage.memory.clock.advance(30 * SECOND);
    assert!(matches!(stage.list().await, Err(ListGuildsError::SignedOut(_))));
    assert_eq!(stage.sessions().await.len(), 0);
    assert!(stage.use_cases.authenticate.authenticate(bystander.token.expose()).await.is_ok());
    stage.signed_in().await;
    assert_eq!(stage.list().await.unwrap().guilds().len(), 1);
}
