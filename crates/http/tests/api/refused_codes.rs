//! Whoever sends refused codes over and over is held up; nobody else is.

use crate::{
    refusing::used_up_by,
    service::{REFUSED_CODES, Service, post_code},
};
use actix_web::test::TestRequest;
use companion_domain::port::IdentityErrorKind;
use companion_storage_memory::{CodeTerms, IdentityCall};
use companion_testkit::world::{a_user, user_id};
use futures_util::future::{join, join_all};
use std::time::Duration;

fn from(address: &str, code: &str) -> TestRequest {
    post_code(code).peer_addr(format!("{address}:5000").parse().unwrap())
}

#[actix_web::test]
async fn after_so_many_refused_codes_a_client_has_to_wait() {
    let service = used_up_by("203.0.113.9").await;
    let refused = service.call(from("203.0.113.9", "made-up")).await;
    refused.assert_error(429, "rate_limited");
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=20).contains(&wait), "{wait}");
}

#[actix_web::test]
async fn codes_that_do_not_grant_enough_count_like_refused_ones() {
    let service = Service::new().await;
    service.code_of(a_user(1), vec![]);
    let post = || {
        let terms = CodeTerms { scope: Some("guilds".to_owned()), ..CodeTerms::default() };
        from("203.0.113.9", &service.memory.identity.issue_code_for(user_id(1), terms))
    };
    for _ in 0..REFUSED_CODES.get() {
        service.call(post()).await.assert_error(401, "idp_scope_missing");
    }
    service.call(post()).await.assert_error(429, "rate_limited");
}

#[actix_web::test]
async fn refusals_are_forgiven_one_by_one() {
    tokio::time::pause();
    let service = used_up_by("203.0.113.9").await;
    tokio::time::advance(Duration::from_secs(60) / REFUSED_CODES.get()).await;
    service.call(from("203.0.113.9", "made-up")).await.assert_error(401, "idp_code_invalid");
    service.call(from("203.0.113.9", "made-up")).await.assert_error(429, "rate_limited");
}

#[actix_web::test]
async fn other_clients_are_not_held_up() {
    let service = used_up_by("203.0.113.9").await;
    let code = service.code_of(a_user(1), vec![]);
    assert_eq!(service.call(from("203.0.113.10", &code)).await.status, 200);
}

#[actix_web::test]
async fn good_codes_do_not_count() {
    let service = Service::new().await;
    for _ in 0..REFUSED_CODES.get() * 2 {
        let code = service.code_of(a_user(1), vec![]);
        assert_eq!(service.call(from("203.0.113.9", &code)).await.status, 200);
    }
}

#[actix_web::test]
async fn a_household_with_ipv6_is_one_client() {
    let service = used_up_by("[2001:db8:1:2::1]").await;
    assert_eq!(service.call(from("[2001:db8:1:2::2]", "made-up")).await.status, 429);
    assert_eq!(service.call(from("[2001:db8:1:3::1]", "made-up")).await.status, 401);
}

/// Lets everything go on that can, while calls of the platform are held up: so many are to come, and no more.
async fn as_far_as_they_get(service: &Service, calls: u64) {
    service.memory.identity.called(IdentityCall::Exchange, calls).await;
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(service.memory.identity.calls(IdentityCall::Exchange), calls);
}

#[actix_web::test]
async fn a_good_code_makes_up_for_refused_ones() {
    let service = Service::new().await;
    for _ in 0..5 {
        service.call(from("203.0.113.9", "made-up")).await.assert_error(401, "idp_code_invalid");
        service.call(from("203.0.113.9", "made-up")).await.assert_error(401, "idp_code_invalid");
        let code = service.code_of(a_user(1), vec![]);
        assert_eq!(service.call(from("203.0.113.9", &code)).await.status, 200);
    }
}

#[actix_web::test]
async fn for_a_client_whose_codes_were_refused_many_attempts_at_once_are_no_way_around_the_limit() {
    let service = Service::new().await;
    service.call(from("203.0.113.9", "made-up")).await.assert_error(401, "idp_code_invalid");
    let held = service.memory.identity.hold(IdentityCall::Exchange);
    let codes: Vec<_> = (0..20).map(|number| format!("made-up-{number}")).collect();
    let attempts = join_all(codes.iter().map(|code| service.call(from("203.0.113.9", code))));
    let watched = async {
        as_far_as_they_get(&service, REFUSED_CODES.get().into()).await;
        drop(held);
    };
    let (answers, ()) = join(attempts, watched).await;
    let refused = answers.iter().filter(|answer| answer.status == 401).count();
    assert_eq!(refused, REFUSED_CODES.get() as usize - 1);
    for answer in answers.iter().filter(|answer| answer.status != 401) {
        answer.assert_error(429, "rate_limited");
    }
    assert_eq!(service.memory.identity.calls(IdentityCall::Exchange), u64::from(REFUSED_CODES.get()));
}

#[actix_web::test]
async fn many_good_codes_at_once_all_get_their_session() {
    let service = Service::new().await;
    let codes: Vec<_> = (1..=20).map(|user| service.code_of(a_user(user), vec![])).collect();
    let held = service.memory.identity.hold(IdentityCall::Exchange);
    let attempts = join_all(codes.iter().map(|code| service.call(from("203.0.113.9", code))));
    let released = async {
        as_far_as_they_get(&service, 20).await;
        drop(held);
    };
    let (answers, ()) = join(attempts, released).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
}

#[actix_web::test]
async fn no_client_has_more_than_256_codes_under_way() {
    let service = Service::new().await;
    let codes: Vec<_> = (1..=260).map(|user| service.code_of(a_user(user), vec![])).collect();
    let held = service.memory.identity.hold(IdentityCall::Exchange);
    let attempts = join_all(codes.iter().map(|code| service.call(from("203.0.113.9", code))));
    let released = async {
        as_far_as_they_get(&service, 256).await;
        drop(held);
    };
    let (answers, ()) = join(attempts, released).await;
    assert!(answers.iter().all(|answer| answer.status == 200), "the others waited");
}

#[actix_web::test]
async fn tokens_that_are_refused_at_once_count_like_refused_codes() {
    let service = Service::new().await;
    service.memory.identity.fail_with(IdentityCall::User, Some(IdentityErrorKind::TokenRefused));
    for _ in 0..REFUSED_CODES.get() {
        let code = service.code_of(a_user(1), vec![]);
        service.call(from("203.0.113.9", &code)).await.assert_error(502, "provider_failed");
    }
    let code = service.code_of(a_user(1), vec![]);
    service.call(from("203.0.113.9", &code)).await.assert_error(429, "rate_limited");
}

#[actix_web::test]
async fn many_posts_of_one_code_share_one_place() {
    let service = Service::new().await;
    let code = service.code_of(a_user(1), vec![]);
    let held = service.memory.identity.hold(IdentityCall::Exchange);
    let posts = join_all((0..20).map(|_| service.call(from("203.0.113.9", &code))));
    let released = async {
        service.memory.identity.called(IdentityCall::Exchange, 1).await;
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        drop(held);
    };
    let (answers, ()) = join(posts, released).await;
    let count = |status| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((count(200), count(401)), (1, 19), "nobody is turned away for a code that was not sent");
    service.call(from("203.0.113.9", &code)).await.assert_error(401, "idp_code_invalid");
}

#[actix_web::test]
async fn failures_of_the_platform_give_their_place_back() {
    let service = Service::new().await;
    service.memory.identity.fail_with(IdentityCall::Exchange, Some(IdentityErrorKind::Failed));
    for number in 0..REFUSED_CODES.get() * 2 {
        let answer = service.call(from("203.0.113.9", &format!("code-{number}"))).await;
        answer.assert_error(502, "provider_failed");
    }
}

#[actix_web::test]
async fn nobody_waits_for_ever_for_the_attempts_of_others() {
    tokio::time::pause();
    let service = Service::new().await;
    service.call(from("203.0.113.9", "made-up")).await.assert_error(401, "idp_code_invalid");
    let _held = service.memory.identity.hold(IdentityCall::Exchange);
    let codes: Vec<_> = (0..REFUSED_CODES.get()).map(|number| format!("slow-{number}")).collect();
    let answers = join_all(codes.iter().map(|code| service.call(from("203.0.113.9", code)))).await;
    let (last, first) = answers.split_last().unwrap();
    last.assert_error(429, "rate_limited");
    first.iter().for_each(|answer| answer.assert_error(504, "provider_timeout"));
}
