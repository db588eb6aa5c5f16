//! Signing in: the user and the list at once, over few connections, and what a refusal then costs whom.

use crate::stage::{ANYONE, Stage, USER, account, kind, secret, user_id, wait_of};
use companion_dev_identity::{ErrorBody, Fault, Route};
use companion_domain::port::{ClientMark, IdentityErrorKind, IdentityProvider as _, UserWithGuilds};
use companion_identity_oauth2::{BudgetRules, Route as Ours};
use std::time::Duration;
use tokio::time::timeout;

const TEN_MINUTES: Duration = Duration::from_secs(600);
const REFUSED: Fault = Fault::Status { status: 403, body: ErrorBody::Json };

#[tokio::test]
async fn the_list_is_asked_for_before_the_user_is_answered() {
    let stage = Stage::new();
    let access = stage.signed_in().await.access;
    let held = stage.control.hold(Route::User);
    let release = async {
        stage.control.answered(Route::Guilds, 1).await;
        drop(held);
    };
    let both = async { tokio::join!(stage.provider.user_with_guilds(ANYONE, &access), release).0 };
    let together = timeout(Duration::from_secs(5), both).await.unwrap().unwrap();
    assert_eq!((together.user.id, together.guilds.unwrap().len()), (user_id(), 2));
}

#[tokio::test]
async fn where_the_user_fails_the_list_is_given_up() {
    let stage = Stage::new();
    let access = stage.signed_in().await.access;
    stage.control.fail(Route::Guilds, Fault::Silent);
    stage.control.fail_times(Route::User, Fault::Status { status: 500, body: ErrorBody::Empty }, 1);
    let failed = timeout(Duration::from_secs(5), stage.provider.user_with_guilds(ANYONE, &access)).await;
    assert_eq!(kind(failed.unwrap()), IdentityErrorKind::Failed);
}

#[tokio::test]
async fn a_list_that_fails_leaves_the_user() {
    let stage = Stage::new();
    let access = stage.signed_in().await.access;
    stage.control.fail(Route::Guilds, Fault::NotJson);
    let UserWithGuilds { user, guilds } = stage.provider.user_with_guilds(ANYONE, &access).await.unwrap();
    assert_eq!((user.id, kind(guilds)), (user_id(), IdentityErrorKind::Failed));
}

#[tokio::test]
async fn sign_ins_one_after_another_share_two_connections() {
    let stage = Stage::new();
    stage.control.limit_rate(None);
    for _ in 0..50 {
        let access = stage.signed_in().await.access;
        let together = stage.provider.user_with_guilds(ANYONE, &access).await.unwrap();
        assert_eq!(together.guilds.unwrap().len(), 2);
    }
    assert!((1..=2).contains(&stage.control.connections()), "{}", stage.control.connections());
}

#[tokio::test]
async fn a_list_that_is_refused_is_charged_to_the_user_whichever_comes_first() {
    for (slow, fast) in [(Route::User, Route::Guilds), (Route::Guilds, Route::User)] {
        let stage = Stage::new();
        stage.control.limit_rate(None);
        stage.control.fail(Route::Guilds, REFUSED);
        let access = stage.signed_in().await.access;
        for number in 0..5 {
            // A different client each time: it is the user who pays.
            let asking = stage.provider.user_with_guilds(ClientMark(number), &access);
            let held = stage.control.hold(slow);
            let release = async {
                stage.control.answered(fast, number + 1).await;
                drop(held);
            };
            let both = async { tokio::join!(asking, release).0 };
            let together = timeout(Duration::from_secs(5), both).await.unwrap();
            assert_eq!(kind(together.unwrap().guilds), IdentityErrorKind::Failed, "{slow:?}");
        }
        stage.control.clear(Route::Guilds);
        assert_eq!(stage.provider.statistics().refused_answers, 5);
        assert_eq!(wait_of(stage.provider.guilds(user_id(), &access).await), TEN_MINUTES, "{slow:?}");
    }
}

#[tokio::test]
async fn users_who_are_refused_their_lists_open_the_breaker_by_their_number_only() {
    let stage = Stage::new();
    stage.control.limit_rate(None);
    stage.control.fail(Route::Guilds, REFUSED);
    let access = stage.signed_in().await.access;
    for client in 0..20 {
        let together = stage.provider.user_with_guilds(ClientMark(client), &access).await.unwrap();
        assert!(together.guilds.is_err());
    }
    stage.control.clear(Route::Guilds);
    stage.control.put_user(account(USER + 1, 3));
    let other = stage.exchange(&stage.control.mint_code(USER + 1)).await.unwrap().access;
    assert_eq!(stage.provider.user_with_guilds(ANYONE, &other).await.unwrap().guilds.unwrap().len(), 3);
}

#[tokio::test]
async fn after_many_lists_were_refused_the_user_is_asked_for_first() {
    let early = BudgetRules { count: 3, within: TEN_MINUTES };
    let stage = Stage::with(|settings| settings.limits.refused_early = early);
    stage.control.limit_rate(None);
    stage.control.fail(Route::Guilds, REFUSED);
    let access = stage.signed_in().await.access;
    let mut asked = Vec::new();
    for client in 0..8 {
        let together = stage.provider.user_with_guilds(ClientMark(client), &access).await.unwrap();
        assert!(together.guilds.is_err());
        asked.push(stage.control.calls(Route::Guilds));
    }
    // Three at once with the user, two more in the user's own name; then nothing is asked for that user.
    assert_eq!(asked, [1, 2, 3, 4, 5, 5, 5, 5]);

    // Nobody else goes without a list; it only comes later.
    stage.control.clear(Route::Guilds);
    stage.control.put_user(account(USER + 1, 3));
    let other = stage.exchange(&stage.control.mint_code(USER + 1)).await.unwrap().access;
    let together = stage.provider.user_with_guilds(ANYONE, &other).await.unwrap();
    assert_eq!(together.guilds.unwrap().len(), 3);
    stage.clock.advance(TEN_MINUTES);
    stage.control.fail(Route::User, Fault::Silent);
    tokio::select! {
        _ = stage.provider.user_with_guilds(ANYONE, &other) => unreachable!("the platform is silent"),
        () = stage.control.called(Route::Guilds, 7) => {}
    }
}

#[tokio::test]
async fn a_list_that_is_given_up_with_its_user_counts_as_refused() {
    let stage = Stage::new();
    stage.control.fail(Route::Guilds, Fault::Silent);
    // The user is refused while the list is under way.
    let held = stage.control.hold(Route::User);
    let release = async {
        stage.control.called(Route::Guilds, 1).await;
        drop(held);
    };
    let access = secret("made-up");
    let (refused, ()) = tokio::join!(stage.provider.user_with_guilds(ANYONE, &access), release);
    assert_eq!(kind(refused), IdentityErrorKind::TokenRefused);
    assert_eq!(stage.control.calls(Route::Guilds), 1);
    assert_eq!(stage.provider.statistics().refused_answers, 2, "the platform may have counted both");
    assert_eq!(stage.provider.statistics().of(Ours::Guilds).sent, 1);
}
