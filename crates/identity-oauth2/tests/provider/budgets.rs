//! Staying far from a ban.

use crate::stage::{ANYONE, Stage, exchange_of, kind, secret, user_id, wait_of};
use companion_dev_identity::{Fault, Route};
use companion_domain::port::{IdentityErrorKind, IdentityProvider as _};
use companion_identity_oauth2::{BudgetRules, Limits, Route as Ours};
use std::{sync::Arc, time::Duration};

#[test]
fn the_usual_budgets_are_far_from_a_ban() {
    let limits = Limits::default();
    assert!(limits.refused.count <= 1000 && limits.refused.within >= Duration::from_secs(600));
    assert!(limits.bad_codes.count <= 100 && limits.bad_codes.within >= Duration::from_secs(60));
    assert!(limits.breaker.longest_pause <= Duration::from_secs(30));
    assert_eq!(limits.answer_bytes, 1 << 20);
}

#[tokio::test]
async fn refused_answers_on_any_route_use_up_one_budget() {
    let within = Duration::from_secs(600);
    let stage = Stage::with(|settings| settings.limits.refused = BudgetRules { count: 3, within });
    let access = stage.signed_in().await.access;
    assert_eq!(kind(stage.provider.user(ANYONE, &secret("bad")).await), IdentityErrorKind::TokenRefused);
    stage.clock.advance(Duration::from_secs(100));
    stage.control.fail_times(Route::Token, Fault::OauthError { error: "invalid_client".to_owned() }, 1);
    assert_eq!(kind(stage.exchange("any").await), IdentityErrorKind::Failed);
    stage.control.fail_times(Route::Guilds, Fault::BanPage { status: 403 }, 1);
    assert_eq!(kind(stage.provider.guilds(user_id(), &access).await), IdentityErrorKind::Failed);

    assert_eq!(wait_of(stage.provider.user(ANYONE, &access).await), Duration::from_secs(500));
    assert_eq!(wait_of(stage.exchange("any").await), Duration::from_secs(500));
    assert_eq!(stage.control.calls(Route::User) + stage.control.calls(Route::Token), 3);
    stage.clock.advance(Duration::from_secs(500));
    assert!(stage.provider.user(ANYONE, &access).await.is_ok());
    assert_eq!(stage.provider.statistics().refused_answers, 2);
}

#[tokio::test]
async fn of_very_many_bad_codes_at_once_only_a_hundred_a_minute_go_out() {
    let stage = Arc::new(Stage::new());
    let mut attempts = tokio::task::JoinSet::new();
    for number in 0..2000 {
        let stage = Arc::clone(&stage);
        attempts.spawn(async move { kind(stage.exchange(&format!("bad-{number}")).await) });
    }
    let kinds = attempts.join_all().await;
    let refused = kinds.iter().filter(|kind| **kind == IdentityErrorKind::BadGrant).count();
    let limited = kinds.iter().filter(|kind| matches!(kind, IdentityErrorKind::Limited(_))).count();
    assert_eq!(refused + limited, 2000);
    assert!(refused <= 100 && refused as u64 == stage.control.calls(Route::Token));

    // Until there are none left; then the rest of the minute has to pass.
    while kind(stage.exchange("bad").await) == IdentityErrorKind::BadGrant {}
    assert_eq!(stage.control.calls(Route::Token), 100);
    assert_eq!(wait_of(stage.exchange(stage.code().expose()).await), Duration::from_secs(60));
    stage.clock.advance(Duration::from_secs(60));
    assert!(stage.exchange(stage.code().expose()).await.is_ok());
    let token = stage.provider.statistics().of(Ours::Token);
    assert_eq!((token.sent, token.refused, token.succeeded), (101, 100, 1));
}

#[tokio::test]
async fn good_codes_and_refreshes_do_not_use_up_the_budget_for_bad_ones() {
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
    // Without codes everything goes on.
    assert_eq!(kind(stage.provider.refresh(user_id(), &secret("bad")).await), IdentityErrorKind::BadGrant);
}

#[tokio::test]
async fn an_exchange_that_is_given_up_counts_as_a_bad_code() {
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
