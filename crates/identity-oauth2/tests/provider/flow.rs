//! The whole flow, from a code to a revocation, and the concurrent calls of a sign-in.

use crate::stage::{
    CLIENT, CLIENT_SECRET, Stage, USER, account, exchange_of, kind, provider, secret, user_id, wait_of,
};
use companion_dev_identity::{ErrorBody, Fault, RateLimit, Route};
use companion_domain::port::{
    ClientMark, Clock as _, IdentityErrorKind, IdentityProvider as _, UserWithGuilds,
};
use companion_identity_oauth2::{BudgetRules, Route as Ours};
use serde_json::json;
use std::{
    process::Command,
    time::{Duration, Instant},
};
use tokio::time::{sleep, timeout};

#[tokio::test]
async fn a_code_yields_a_user_with_guilds_until_revoked() {
    let stage = Stage::new();
    let tokens = stage.signed_in().await;
    assert_eq!(tokens.expires_at, stage.clock.now().after(Duration::from_secs(7 * 24 * 3600)));

    let user = stage.provider.user(CLIENT, &tokens.access).await.unwrap();
    assert_eq!((user.username.as_str(), user.name.as_str()), ("sample_user", "Sample User"));
    let avatar = format!("{}/avatars/{USER}/a_0f1e.gif", stage.running.cdn_url());
    assert_eq!((user.id.get(), user.avatar.as_str()), (USER, avatar.as_str()));

    let guilds = stage.provider.guilds(user_id(), &tokens.access).await.unwrap().memberships;
    let seen: Vec<_> = guilds.iter().map(|guild| (guild.guild.get() >> 22, guild.owner)).collect();
    assert_eq!(seen, [(1, true), (2, false)]);
    assert!(guilds.iter().all(|guild| guild.permissions.bits() >= 1 << 50));

    stage.provider.revoke(&tokens.access).await.unwrap();
    assert!(!stage.control.is_authorised(USER));
    assert_eq!(kind(stage.provider.user(CLIENT, &tokens.access).await), IdentityErrorKind::TokenRefused);
    let routes = [Route::Token, Route::User, Route::Guilds, Route::Revoke];
    assert_eq!(routes.map(|route| stage.control.calls(route)), [1, 2, 1, 1]);
}

#[tokio::test]
async fn reads_all_pages_and_one_more_after_a_full_one() {
    let stage = Stage::new();
    for (guilds, calls) in [(0, 1), (199, 1), (200, 2), (450, 3)] {
        stage.control.put_user(account(USER, guilds));
        let tokens = stage.signed_in().await;
        let before = stage.control.calls(Route::Guilds);
        let listed = stage.provider.guilds(user_id(), &tokens.access).await.unwrap().memberships;
        assert_eq!(listed.len() as u64, guilds);
        assert!(listed.is_sorted_by(|one, next| one.guild < next.guild));
        assert_eq!(stage.control.calls(Route::Guilds) - before, calls);
    }
}

#[tokio::test]
async fn skips_unreadable_rows_and_reads_later_pages() {
    let stage = Stage::new();
    let row = |id: u64| match id {
        1 => json!({"id": "1", "owner": null, "permissions": "1180591620717411303432"}),
        2 => json!({"id": "2", "permissions": {"low": 8}}),
        3 => json!(null),
        200 => json!({"id": "200", "owner": "yes"}),
        other => json!({"id": other.to_string()}),
    };
    let page = |ids: std::ops::RangeInclusive<u64>| {
        let rows: Vec<_> = ids.map(row).collect();
        Fault::Body { status: 200, json: rows.into() }
    };
    stage.control.fail_times(Route::Guilds, page(1..=200), 1);
    stage.control.fail_times(Route::Guilds, page(201..=210), 1);
    let listed = stage.provider.guilds(user_id(), &secret("any")).await.unwrap().memberships;
    assert_eq!(listed.len(), 207);
    assert!(listed.iter().any(|membership| membership.permissions.administrator()));
    assert_eq!(stage.control.calls(Route::Guilds), 2);
    assert_eq!(stage.provider.statistics().unreadable_guilds, 3);

    stage.control.fail_times(Route::Guilds, Fault::Body { status: 200, json: json!(null) }, 1);
    assert_eq!(stage.provider.guilds(user_id(), &secret("any")).await.unwrap().memberships, []);
    assert_eq!(stage.control.calls(Route::Guilds), 3);
}

#[tokio::test]
async fn waits_for_a_short_limit_between_two_pages() {
    let stage = Stage::new();
    stage.control.put_user(account(USER, 450));
    let per = Duration::from_millis(100);
    stage.control.limit_rate(Some(RateLimit { requests: 1, per }));
    let access = stage.signed_in().await.access;
    let started = Instant::now();
    let clock_runs = async {
        loop {
            sleep(per / 10).await;
            stage.clock.advance(per / 10);
        }
    };
    tokio::select! {
        listed = stage.provider.guilds(user_id(), &access) => assert_eq!(listed.unwrap().memberships.len(), 450),
        () = clock_runs => {}
    }
    assert!(started.elapsed() >= 2 * per);
}

#[tokio::test]
async fn reports_a_limit_between_pages_beyond_the_deadline() {
    let stage = Stage::with(|settings| settings.deadlines.call = Duration::from_secs(5));
    stage.control.put_user(account(USER, 450));
    let per = Duration::from_secs(3600);
    stage.control.limit_rate(Some(RateLimit { requests: 1, per }));
    let access = stage.signed_in().await.access;
    let started = Instant::now();
    assert!(matches!(kind(stage.provider.guilds(user_id(), &access).await), IdentityErrorKind::Limited(_)));
    assert!(started.elapsed() < Duration::from_secs(4));
    assert_eq!(stage.control.calls(Route::Guilds), 1, "nothing is sent while the bucket is empty");
}

#[tokio::test]
async fn stops_at_repeating_or_excessive_pages() {
    let stage = Stage::with(|settings| settings.limits.guilds = 500);
    let page: Vec<_> = (1..=200).map(|id| serde_json::json!({"id": id.to_string()})).collect();
    stage.control.fail(Route::Guilds, Fault::Body { status: 200, json: page.into() });
    let access = secret("any");
    assert_eq!(kind(stage.provider.guilds(user_id(), &access).await), IdentityErrorKind::Failed);
    assert_eq!(stage.control.calls(Route::Guilds), 2);

    // More guilds than allowed, even though the pages are consistent.
    stage.control.clear_all();
    stage.control.put_user(account(USER, 700));
    let access = stage.signed_in().await.access;
    assert_eq!(kind(stage.provider.guilds(user_id(), &access).await), IdentityErrorKind::Failed);
    assert_eq!(stage.control.calls(Route::Guilds), 5);
}

fn token_answer(scope: Option<&str>) -> Fault {
    let json = match scope {
        Some(scope) => json!({"access_token": "any", "token_type": "Bearer", "scope": scope}),
        None => json!({"access_token": "any", "token_type": "Bearer"}),
    };
    Fault::Body { status: 200, json }
}

#[tokio::test]
async fn absent_scopes_grant_all_and_empty_scopes_grant_none() {
    let stage = Stage::new();
    stage.control.fail_times(Route::Token, token_answer(None), 1);
    assert!(stage.exchange("any").await.is_ok());
    for scope in ["", " ", "identify", "guilds email"] {
        stage.control.fail_times(Route::Token, token_answer(Some(scope)), 1);
        assert_eq!(kind(stage.exchange("any").await), IdentityErrorKind::ScopeMissing, "{scope:?}");
    }
    // The scopes of a refresh response are ignored.
    stage.control.fail_times(Route::Token, token_answer(Some("identify")), 1);
    assert!(stage.provider.refresh(user_id(), &secret("any")).await.is_ok());
    let routes = [Route::User, Route::Guilds, Route::Revoke];
    assert_eq!(routes.map(|route| stage.control.calls(route)), [0, 0, 0]);
    assert_eq!(stage.provider.statistics().bad_codes, 0, "the platform was not bothered");
}

#[tokio::test]
async fn a_code_may_contain_any_printable_character() {
    let stage = Stage::new();
    let all: String = ('!'..='~').collect();
    assert_eq!(kind(stage.exchange(&all).await), IdentityErrorKind::BadGrant);
    assert_eq!(stage.control.calls(Route::Token), 1);
}

#[tokio::test]
async fn a_client_secret_may_contain_any_character() {
    for odd in [CLIENT_SECRET, ":", "%41+%zz", "a&client_id=1", "=", "\u{1f98a} \t\n\u{0}", "-_.~'()*"] {
        let stage = Stage::with(|settings| settings.client_secret = secret(odd));
        let tokens = stage.signed_in().await;
        let tokens = stage.provider.refresh(user_id(), &tokens.refresh.unwrap()).await.unwrap();
        stage.provider.revoke(&tokens.access).await.unwrap();
        assert!(!stage.control.is_authorised(USER), "{odd:?}");
    }
}

#[tokio::test]
async fn wrong_client_credentials_are_not_charged_to_codes() {
    let stage = Stage::new();
    let mut settings = stage.settings.clone();
    settings.client_secret = secret("wrong");
    let provider = provider(&settings, &stage.clock);
    assert_eq!(kind(provider.exchange(&exchange_of(stage.code())).await), IdentityErrorKind::Failed);
    assert_eq!(kind(provider.refresh(user_id(), &secret("any")).await), IdentityErrorKind::Failed);
    assert_eq!(kind(provider.revoke(&secret("any")).await), IdentityErrorKind::Failed);
    let statistics = provider.statistics();
    assert_eq!((statistics.refused_responses, statistics.bad_codes), (3, 0));
}

/// The environment can only be set for a new process, so the test starts one.
#[test]
fn ignores_proxy_variables_of_the_environment() {
    let mut again = Command::new(std::env::current_exe().unwrap());
    for variable in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        again.env(variable, "http://127.0.0.1:9");
    }
    for variable in ["NO_PROXY", "no_proxy"] {
        again.env_remove(variable);
    }
    let output =
        again.args(["--exact", "flow::a_code_yields_a_user_with_guilds_until_revoked"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

const TEN_MINUTES: Duration = Duration::from_secs(600);
const REFUSED: Fault = Fault::Status { status: 403, body: ErrorBody::Json };

#[tokio::test]
async fn requests_the_list_before_the_user_is_known() {
    let stage = Stage::new();
    let access = stage.signed_in().await.access;
    let held = stage.control.hold(Route::User);
    let release = async {
        stage.control.answered(Route::Guilds, 1).await;
        drop(held);
    };
    let both = async { tokio::join!(stage.provider.user_with_guilds(CLIENT, &access), release).0 };
    let together = timeout(Duration::from_secs(5), both).await.unwrap().unwrap();
    assert_eq!((together.user.id, together.guilds.unwrap().memberships.len()), (user_id(), 2));
}

#[tokio::test]
async fn a_failed_list_returns_the_user_and_a_failed_user_cancels_the_list() {
    let stage = Stage::new();
    let access = stage.signed_in().await.access;
    stage.control.fail(Route::Guilds, Fault::NotJson);
    let UserWithGuilds { user, guilds } = stage.provider.user_with_guilds(CLIENT, &access).await.unwrap();
    assert_eq!((user.id, kind(guilds)), (user_id(), IdentityErrorKind::Failed));
    stage.control.fail(Route::Guilds, Fault::Silent);
    stage.control.fail_times(Route::User, Fault::Status { status: 500, body: ErrorBody::Empty }, 1);
    let failed = timeout(Duration::from_secs(5), stage.provider.user_with_guilds(CLIENT, &access)).await;
    assert_eq!(kind(failed.unwrap()), IdentityErrorKind::Failed);
}

#[tokio::test]
async fn sequential_sign_ins_share_two_connections() {
    let stage = Stage::new();
    stage.control.limit_rate(None);
    for _ in 0..50 {
        let access = stage.signed_in().await.access;
        let together = stage.provider.user_with_guilds(CLIENT, &access).await.unwrap();
        assert_eq!(together.guilds.unwrap().memberships.len(), 2);
    }
    assert!((1..=2).contains(&stage.control.connections()), "{}", stage.control.connections());
}

#[tokio::test]
async fn a_refused_list_is_charged_to_the_user_in_either_order() {
    for (slow, fast) in [(Route::User, Route::Guilds), (Route::Guilds, Route::User)] {
        let stage = Stage::new();
        stage.control.limit_rate(None);
        stage.control.fail(Route::Guilds, REFUSED);
        let access = stage.signed_in().await.access;
        for number in 0..5 {
            // A different client each time: the refusal is charged to the user.
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
        stage.control.clear_all();
        assert_eq!(stage.provider.statistics().refused_responses, 5);
        assert_eq!(wait_of(stage.provider.guilds(user_id(), &access).await), TEN_MINUTES, "{slow:?}");
    }
}

#[tokio::test]
async fn requests_the_user_first_after_many_refused_lists() {
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
    // Three concurrent with the user, two more charged to the user; then no call is made for that user.
    assert_eq!(asked, [1, 2, 3, 4, 5, 5, 5, 5]);

    // Other users still get their list, only later.
    stage.control.clear_all();
    stage.control.put_user(account(USER + 1, 3));
    let other = stage.exchange(&stage.control.mint_code(USER + 1)).await.unwrap().access;
    let together = stage.provider.user_with_guilds(CLIENT, &other).await.unwrap();
    assert_eq!(together.guilds.unwrap().memberships.len(), 3);
    stage.clock.advance(TEN_MINUTES);
    stage.control.fail(Route::User, Fault::Silent);
    tokio::select! {
        _ = stage.provider.user_with_guilds(CLIENT, &other) => unreachable!("the platform is silent"),
        () = stage.control.called(Route::Guilds, 7) => {}
    }
}

#[tokio::test]
async fn a_list_cancelled_with_its_user_counts_as_refused() {
    let stage = Stage::new();
    stage.control.fail(Route::Guilds, Fault::Silent);
    // The user is refused while the list is in flight.
    let held = stage.control.hold(Route::User);
    let release = async {
        stage.control.called(Route::Guilds, 1).await;
        drop(held);
    };
    let access = secret("made-up");
    let (refused, ()) = tokio::join!(stage.provider.user_with_guilds(CLIENT, &access), release);
    assert_eq!(kind(refused), IdentityErrorKind::TokenRefused);
    assert_eq!(stage.control.calls(Route::Guilds), 1);
    assert_eq!(stage.provider.statistics().refused_responses, 2, "the platform may have counted both");
    assert_eq!(stage.counted(Ours::Guilds).sent, 1);
}
