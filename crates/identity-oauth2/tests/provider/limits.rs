//! Waiting as the platform says.

use crate::stage::{ANYONE, Stage, kind, secret, user_id, wait_of};
use async_trait::async_trait;
use companion_dev_identity::{ErrorBody, Fault, RateLimit, Route};
use companion_domain::port::{
    Clock as _, IdentityErrorKind, IdentityProvider as _, PlatformPause, PlatformPauses, Standing, StoreError,
};
use companion_storage_memory::MemoryStorage;
use std::{sync::Arc, time::Duration};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test]
async fn until_the_wait_is_over_nothing_is_asked_again() {
    let stage = Stage::new();
    let access = stage.signed_in().await.access;
    stage.control.fail_times(Route::User, Fault::Limited { retry_after: 30.0, global: false }, 1);
    assert_eq!(wait_of(stage.provider.user(ANYONE, &access).await), seconds(30));
    stage.clock.advance(seconds(20));
    assert_eq!(wait_of(stage.provider.user(ANYONE, &access).await), seconds(10));
    assert_eq!(stage.control.calls(Route::User), 1);
    stage.clock.advance(seconds(10));
    assert!(stage.provider.user(ANYONE, &access).await.is_ok());
    assert_eq!(stage.control.calls(Route::User), 2);
}

#[tokio::test]
async fn no_clock_that_is_set_makes_the_wait_longer_or_shorter() {
    let stage = Stage::new();
    let access = stage.signed_in().await.access;
    stage.control.fail_times(Route::User, Fault::Limited { retry_after: 30.0, global: false }, 1);
    assert_eq!(wait_of(stage.provider.user(ANYONE, &access).await), seconds(30));
    let now = stage.clock.now();
    for date in [now.before(seconds(3600)), now.after(seconds(3600)), now] {
        stage.clock.set(date);
        stage.clock.advance(seconds(5));
        assert!(stage.provider.user(ANYONE, &access).await.is_err());
    }
    assert_eq!(wait_of(stage.provider.user(ANYONE, &access).await), seconds(15));
    assert_eq!(stage.control.calls(Route::User), 1);
}

#[tokio::test]
async fn a_local_limit_holds_for_one_route_and_one_token() {
    let stage = Stage::new();
    let (one, other) = (stage.signed_in().await.access, stage.signed_in().await.access);
    stage.control.fail_times(Route::User, Fault::Limited { retry_after: 30.0, global: false }, 1);
    assert_eq!(wait_of(stage.provider.user(ANYONE, &one).await), seconds(30));
    assert!(stage.provider.user(ANYONE, &other).await.is_ok());
    assert!(stage.provider.guilds(user_id(), &one).await.is_ok());
    assert!(stage.exchange(stage.code().expose()).await.is_ok());
}

#[tokio::test]
async fn a_global_limit_and_a_ban_hold_for_everything() {
    for fault in [Fault::Limited { retry_after: 60.0, global: true }, Fault::BanPage { status: 429 }] {
        let stage = Stage::new();
        let access = stage.signed_in().await.access;
        stage.control.fail_times(Route::User, fault, 1);
        assert_eq!(wait_of(stage.provider.user(ANYONE, &access).await), seconds(60));
        assert_eq!(wait_of(stage.provider.guilds(user_id(), &access).await), seconds(60));
        assert_eq!(wait_of(stage.provider.revoke(&access).await), seconds(60));
        assert_eq!(wait_of(stage.exchange(stage.code().expose()).await), seconds(60));
        let calls =
            [Route::Token, Route::User, Route::Guilds, Route::Revoke].map(|route| stage.control.calls(route));
        assert_eq!(calls, [1, 1, 0, 0]);
        stage.clock.advance(seconds(60));
        assert!(stage.provider.user(ANYONE, &access).await.is_ok());
    }
}

#[tokio::test]
async fn a_code_that_met_a_limit_can_be_sent_later() {
    let stage = Stage::new();
    let code = stage.code();
    stage.control.fail_times(Route::Token, Fault::Limited { retry_after: 5.0, global: false }, 1);
    let limited = stage.exchange(code.expose()).await;
    assert!(limited.as_ref().is_err_and(|error| error.kind.nothing_sent()));
    // Exchanges are all in our own name, so the limit holds for the next code, too.
    assert_eq!(wait_of(stage.exchange(stage.code().expose()).await), seconds(5));
    stage.clock.advance(seconds(5));
    assert!(stage.exchange(code.expose()).await.is_ok());
}

#[tokio::test]
async fn a_bucket_that_says_it_is_empty_is_not_tried() {
    let stage = Stage::new();
    stage.control.limit_rate(Some(RateLimit { requests: 2, per: seconds(3600) }));
    let access = stage.signed_in().await.access;
    assert!(stage.provider.user(ANYONE, &access).await.is_ok());
    assert!(stage.provider.user(ANYONE, &access).await.is_ok());
    let wait = wait_of(stage.provider.user(ANYONE, &access).await);
    assert!(wait > seconds(3500) && wait <= seconds(3600), "{wait:?}");
    assert_eq!(stage.control.calls(Route::User), 2);
    stage.clock.advance(seconds(3600));
    stage.control.forward(seconds(3600));
    assert!(stage.provider.user(ANYONE, &access).await.is_ok());
}

#[tokio::test]
async fn that_no_code_would_go_out_is_known_before_one_is_sent() {
    let stage = Stage::new();
    let ready = || stage.provider.ready_to_exchange(Standing::Good);
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
    let token = stage.provider.statistics().of(companion_identity_oauth2::Route::Token);
    assert_eq!(token.limited, 3, "who is turned away before is counted all the same");
}

#[tokio::test]
async fn limits_are_counted() {
    let stage = Stage::new();
    stage.control.fail(Route::User, Fault::Limited { retry_after: 30.0, global: false });
    let access = secret("any");
    for _ in 0..3 {
        wait_of(stage.provider.user(ANYONE, &access).await);
    }
    let user = stage.provider.statistics().of(companion_identity_oauth2::Route::User);
    assert_eq!((user.sent, user.limited, user.succeeded), (1, 3, 0));
    assert_eq!(stage.provider.statistics().refused_answers, 1);
    stage.control.fail(Route::Guilds, Fault::Status { status: 500, body: ErrorBody::Json });
    assert_eq!(kind(stage.provider.guilds(user_id(), &access).await), IdentityErrorKind::Failed);
    let guilds = stage.provider.statistics().of(companion_identity_oauth2::Route::Guilds);
    assert_eq!((guilds.sent, guilds.failed), (1, 1));
}

#[tokio::test]
async fn what_one_node_is_told_to_wait_for_everything_the_others_wait_too() {
    let stage = Stage::new();
    let pauses = Arc::new(MemoryStorage::new());
    let [one, other] = [(); 2].map(|()| stage.another_provider().sharing(pauses.clone()));
    let access = stage.signed_in().await.access;
    assert!(other.user(ANYONE, &access).await.is_ok());
    stage.control.fail_times(Route::User, Fault::Limited { retry_after: 30.0, global: true }, 1);
    assert_eq!(wait_of(one.user(ANYONE, &access).await), seconds(30));
    let sent = stage.control.calls(Route::User) + stage.control.calls(Route::Guilds);
    // It has looked a moment ago.
    stage.clock.advance(seconds(1));
    assert_eq!(wait_of(other.guilds(user_id(), &access).await), seconds(29));
    stage.clock.advance(seconds(9));
    assert_eq!(wait_of(other.user(ANYONE, &access).await), seconds(20));
    assert_eq!(stage.control.calls(Route::User) + stage.control.calls(Route::Guilds), sent);
    stage.clock.advance(seconds(20));
    assert!(other.user(ANYONE, &access).await.is_ok() && one.user(ANYONE, &access).await.is_ok());
}

#[tokio::test]
async fn limits_of_one_route_or_user_are_not_told_to_others() {
    let stage = Stage::new();
    let pauses = Arc::new(MemoryStorage::new());
    let provider = stage.another_provider().sharing(pauses.clone());
    stage.control.fail_times(Route::User, Fault::Limited { retry_after: 30.0, global: false }, 1);
    wait_of(provider.user(ANYONE, &secret("any")).await);
    assert_eq!(pauses.current().await.unwrap(), None);
}

/// A store that fails, or never answers.
struct Lost(bool);

#[async_trait]
impl PlatformPauses for Lost {
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
async fn without_the_store_each_node_finds_out_for_itself() {
    for silent in [false, true] {
        let stage = Stage::new();
        let provider = stage.another_provider().sharing(Arc::new(Lost(silent)));
        let access = stage.signed_in().await.access;
        assert!(provider.user(ANYONE, &access).await.is_ok());
        stage.control.fail_times(Route::User, Fault::Limited { retry_after: 30.0, global: true }, 1);
        assert_eq!(wait_of(provider.user(ANYONE, &access).await), seconds(30));
        assert_eq!(wait_of(provider.user(ANYONE, &access).await), seconds(30));
    }
}
