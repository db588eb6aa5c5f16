//! Rate limits of the platform, and distance from a ban.

use crate::stage::{CLIENT, Stage, exchange_of, kind, secret, user_id, wait_of};
use async_trait::async_trait;
use companion_dev_identity::{ErrorBody, Fault, Route};
use companion_domain::{
    model::{Secret, UserId},
    port::{
        Clock as _, CodeExchange, IdentityErrorKind, IdentityProvider as _, PlatformPause, PlatformPauses,
        Reputation, StoreError,
    },
};
use companion_identity_oauth2::{BudgetRules, Limits};
use companion_storage_memory::MemoryStorage;
use std::{sync::Arc, time::Duration};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test]
async fn sends_no_call_until_the_wait_is_over() {
    let stage = Stage::new();
    let access = stage.signed_in().await.access;
    stage.control.fail_times(Route::User, Fault::Limited { retry_after: 30.0, global: false }, 1);
    assert_eq!(wait_of(stage.provider.user(CLIENT, &access).await), seconds(30));
    // Setting the clock neither extends nor shortens it.
    let now = stage.clock.now();
    for (date, left) in [(now.before(seconds(3600)), 20), (now.after(seconds(3600)), 10)] {
        stage.clock.set(date);
        stage.clock.advance(seconds(10));
        assert_eq!(wait_of(stage.provider.user(CLIENT, &access).await), seconds(left));
    }
    assert_eq!(stage.control.calls(Route::User), 1);
    stage.clock.advance(seconds(10));
    assert!(stage.provider.user(CLIENT, &access).await.is_ok());
    assert_eq!(stage.control.calls(Route::User), 2);
}

#[tokio::test]
async fn a_global_limit_or_ban_applies_to_all_routes() {
    for fault in [Fault::Limited { retry_after: 60.0, global: true }, Fault::BanPage { status: 429 }] {
        let stage = Stage::new();
        let access = stage.signed_in().await.access;
        stage.control.fail_times(Route::User, fault, 1);
        assert_eq!(wait_of(stage.provider.user(CLIENT, &access).await), seconds(60));
        assert_eq!(wait_of(stage.provider.guilds(user_id(), &access).await), seconds(60));
        assert_eq!(wait_of(stage.provider.revoke(&access).await), seconds(60));
        assert_eq!(wait_of(stage.exchange(stage.code().expose()).await), seconds(60));
        let calls =
            [Route::Token, Route::User, Route::Guilds, Route::Revoke].map(|route| stage.control.calls(route));
        assert_eq!(calls, [1, 1, 0, 0]);
        stage.clock.advance(seconds(60));
        assert!(stage.provider.user(CLIENT, &access).await.is_ok());
    }
}

#[tokio::test]
async fn a_rate_limited_code_can_be_sent_later() {
    let stage = Stage::new();
    let code = stage.code();
    stage.control.fail_times(Route::Token, Fault::Limited { retry_after: 5.0, global: false }, 1);
    let limited = stage.exchange(code.expose()).await;
    assert!(limited.as_ref().is_err_and(|error| error.kind.is_unprocessed()));
    // Exchanges carry no user token, so the limit applies to the next code, too.
    assert_eq!(wait_of(stage.exchange(stage.code().expose()).await), seconds(5));
    stage.clock.advance(seconds(5));
    assert!(stage.exchange(code.expose()).await.is_ok());
}

#[tokio::test]
async fn readiness_reports_limits_before_a_code_is_sent() {
    let stage = Stage::new();
    let ready = || stage.provider.ready_to_exchange(Reputation::Good);
    assert!(ready().is_ok());
    stage.control.fail_times(Route::Token, Fault::Limited { retry_after: 30.0, global: false }, 1);
    wait_of(stage.exchange("any").await);
    assert_eq!(wait_of(ready()), seconds(30));
    stage.clock.advance(seconds(30));
    assert!(ready().is_ok());

    stage.control.fail(Route::Token, Fault::Status { status: 500, body: ErrorBody::Json });
    for _ in 0..5 {
        assert_eq!(kind(stage.exchange("any").await), IdentityErrorKind::Failed);
    }
    assert_eq!(wait_of(ready()), seconds(2), "the breaker is open");
    assert_eq!(stage.control.calls(Route::Token), 6);
    let token = stage.counted(companion_identity_oauth2::Route::Token);
    assert_eq!((token.sent, token.failed, token.succeeded), (6, 5, 0));
    assert_eq!(token.limited, 3, "who is turned away before is counted all the same");
}

#[tokio::test]
async fn a_global_limit_of_one_node_applies_to_all_nodes() {
    let stage = Stage::new();
    let pauses = Arc::new(MemoryStorage::new());
    let [one, other] = [(); 2].map(|()| stage.sharing_provider(pauses.clone()));
    let access = stage.signed_in().await.access;
    assert!(other.user(CLIENT, &access).await.is_ok());
    stage.control.fail_times(Route::User, Fault::Limited { retry_after: 30.0, global: true }, 1);
    assert_eq!(wait_of(one.user(CLIENT, &access).await), seconds(30));
    let sent = stage.control.calls(Route::User) + stage.control.calls(Route::Guilds);
    // It has polled a moment ago.
    stage.clock.advance(seconds(1));
    assert_eq!(wait_of(other.guilds(user_id(), &access).await), seconds(29));
    stage.clock.advance(seconds(9));
    assert_eq!(wait_of(other.user(CLIENT, &access).await), seconds(20));
    assert_eq!(stage.control.calls(Route::User) + stage.control.calls(Route::Guilds), sent);
    stage.clock.advance(seconds(20));
    assert!(other.user(CLIENT, &access).await.is_ok() && one.user(CLIENT, &access).await.is_ok());
}

#[tokio::test]
async fn does_not_share_limits_of_one_route_or_user() {
    let stage = Stage::new();
    let pauses = Arc::new(MemoryStorage::new());
    let provider = stage.sharing_provider(pauses.clone());
    stage.control.fail_times(Route::User, Fault::Limited { retry_after: 30.0, global: false }, 1);
    wait_of(provider.user(CLIENT, &secret("any")).await);
    assert_eq!(pauses.current().await.unwrap(), None);
}

/// A store that fails, or never answers.
struct FailingPauses(bool);

#[async_trait]
impl PlatformPauses for FailingPauses {
    async fn note(&self, _: PlatformPause) -> Result<(), StoreError> {
        self.current().await.map(drop)
    }

    async fn current(&self) -> Result<Option<PlatformPause>, StoreError> {
        if self.0 {
            return std::future::pending().await;
        }
        Err(StoreError::unavailable("told to fail"))
    }
}

#[tokio::test]
async fn without_the_store_each_node_learns_the_limit_itself() {
    for silent in [false, true] {
        let stage = Stage::new();
        let provider = stage.sharing_provider(Arc::new(FailingPauses(silent)));
        let access = stage.signed_in().await.access;
        assert!(provider.user(CLIENT, &access).await.is_ok());
        stage.control.fail_times(Route::User, Fault::Limited { retry_after: 30.0, global: true }, 1);
        assert_eq!(wait_of(provider.user(CLIENT, &access).await), seconds(30));
        assert_eq!(wait_of(provider.user(CLIENT, &access).await), seconds(30));
    }
}

#[test]
fn default_budgets_are_far_from_a_ban() {
    let limits = Limits::default();
    let ten_minutes = Duration::from_secs(600);
    // The platform bans after 10,000, and several nodes may share an address.
    for (budget, most) in [(limits.refused_per_user, 5), (limits.refused, 500), (limits.refused_total, 2000)]
    {
        assert!(budget.count <= most && budget.within >= ten_minutes, "{budget:?}");
    }
    assert!(limits.bad_codes.count <= 300 && limits.bad_codes.within >= Duration::from_secs(60));
    assert_eq!(limits.reserved_codes * 3, limits.bad_codes.count);
    assert!(limits.breaker.longest_pause <= Duration::from_secs(30));
    assert_eq!(limits.max_response_bytes, 1 << 20);
}

#[tokio::test]
async fn refusals_on_all_routes_share_one_budget() {
    let within = Duration::from_secs(600);
    let stage = Stage::with(|settings| settings.limits.refused_total = BudgetRules { count: 3, within });
    let access = stage.signed_in().await.access;
    assert_eq!(kind(stage.provider.user(CLIENT, &secret("bad")).await), IdentityErrorKind::TokenRefused);
    stage.clock.advance(Duration::from_secs(100));
    stage.control.fail_times(Route::Token, Fault::OauthError { error: "invalid_client".to_owned() }, 1);
    assert_eq!(kind(stage.exchange("any").await), IdentityErrorKind::Failed);
    stage.control.fail_times(Route::Guilds, Fault::BanPage { status: 403 }, 1);
    assert_eq!(kind(stage.provider.guilds(user_id(), &access).await), IdentityErrorKind::Failed);

    assert_eq!(wait_of(stage.provider.user(CLIENT, &access).await), Duration::from_secs(500));
    assert_eq!(wait_of(stage.exchange("any").await), Duration::from_secs(500));
    assert_eq!(stage.control.calls(Route::User) + stage.control.calls(Route::Token), 3);
    assert_eq!(stage.provider.statistics().refused_responses_left, 0);
    stage.clock.advance(Duration::from_secs(500));
    assert!(stage.provider.user(CLIENT, &access).await.is_ok());
    let now = stage.provider.statistics();
    assert_eq!((now.refused_responses, now.refused_responses_left), (2, 1));
}

#[tokio::test]
async fn a_repeatedly_refused_user_waits_alone() {
    let stage = Stage::new();
    let access = stage.signed_in().await.access;
    let list =
        async |user: u64, access: &Secret| stage.provider.guilds(UserId::new(user).unwrap(), access).await;
    for number in 0..5 {
        // With a new token each time, as after a refresh: the refusal is charged to the user.
        let token = secret(&format!("renewed-{number}"));
        assert_eq!(kind(list(1, &token).await), IdentityErrorKind::TokenRefused);
        stage.clock.advance(Duration::from_secs(60));
    }
    assert_eq!(wait_of(list(1, &access).await), Duration::from_secs(300));
    assert_eq!(stage.control.calls(Route::Guilds), 5);
    assert!(list(2, &access).await.is_ok());
    assert!(stage.exchange(stage.code().expose()).await.is_ok());
    assert_eq!(stage.provider.statistics().refused_responses, 5, "the platform counts them all");
    stage.clock.advance(Duration::from_secs(300));
    assert!(list(1, &access).await.is_ok());
}

#[tokio::test]
async fn refused_credentials_stop_calls_without_a_user() {
    let within = Duration::from_secs(600);
    let stage = Stage::with(|settings| settings.limits.refused = BudgetRules { count: 2, within });
    let access = stage.signed_in().await.access;
    stage.control.fail(Route::Token, Fault::OauthError { error: "invalid_client".to_owned() });
    for _ in 0..2 {
        assert_eq!(kind(stage.exchange("any").await), IdentityErrorKind::Failed);
    }
    assert_eq!(wait_of(stage.exchange("any").await), within);
    assert_eq!(wait_of(stage.provider.refresh(user_id(), &secret("any")).await), within);
    assert!(stage.provider.guilds(user_id(), &access).await.is_ok());
}

#[tokio::test]
async fn sends_at_most_300_bad_codes_a_minute_and_reserves_a_third() {
    let stage = Stage::new();
    let doubtful =
        |code: &str| CodeExchange { standing: Reputation::Doubtful, ..exchange_of(code.parse().unwrap()) };
    while kind(stage.provider.exchange(&doubtful("bad")).await) == IdentityErrorKind::BadGrant {}
    assert_eq!(stage.control.calls(Route::Token), 200);
    assert_eq!(
        wait_of(stage.provider.exchange(&doubtful(stage.code().expose())).await),
        Duration::from_secs(60)
    );
    wait_of(stage.provider.ready_to_exchange(Reputation::Doubtful));
    assert!(stage.provider.ready_to_exchange(Reputation::Good).is_ok());
    assert!(stage.exchange(stage.code().expose()).await.is_ok());
    while kind(stage.exchange("bad").await) == IdentityErrorKind::BadGrant {}
    assert_eq!(stage.control.calls(Route::Token), 301, "all three hundred, and one that was good");
}

#[tokio::test]
async fn good_codes_and_refreshes_spend_no_bad_code_budget() {
    let within = Duration::from_secs(60);
    let stage = Stage::with(|settings| settings.limits.bad_codes = BudgetRules { count: 2, within });
    for _ in 0..5 {
        stage.signed_in().await;
        assert_eq!(
            kind(stage.provider.refresh(user_id(), &secret("bad")).await),
            IdentityErrorKind::BadGrant
        );
    }
    assert_eq!(stage.provider.statistics().bad_codes, 0);
    for _ in 0..2 {
        assert_eq!(kind(stage.exchange("bad").await), IdentityErrorKind::BadGrant);
    }
    wait_of(stage.exchange("bad").await);
    // Calls without codes are still sent.
    assert_eq!(kind(stage.provider.refresh(user_id(), &secret("bad")).await), IdentityErrorKind::BadGrant);
}

#[tokio::test]
async fn a_cancelled_exchange_counts_as_a_bad_code() {
    let within = Duration::from_secs(60);
    let stage = Stage::with(|settings| settings.limits.bad_codes = BudgetRules { count: 1, within });
    stage.control.fail(Route::Token, Fault::Silent);
    let exchange = exchange_of(stage.code());
    tokio::select! {
        _ = stage.provider.exchange(&exchange) => unreachable!("the platform is silent"),
        () = stage.control.called(Route::Token, 1) => {}
    }
    assert_eq!(wait_of(stage.exchange("bad").await), within);
}
