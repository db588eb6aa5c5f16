//! Whoever sends refused codes over and over is held up; nobody else is.

use crate::service::{REFUSED_CODES, Service, post_code};
use actix_web::test::TestRequest;
use companion_testkit::world::a_user;

fn from(address: &str, code: &str) -> TestRequest {
    post_code(code).peer_addr(format!("{address}:5000").parse().unwrap())
}

/// A service at which this address has used up its refusals.
pub(crate) async fn used_up_by(address: &str) -> Service {
    let service = Service::new().await;
    for _ in 0..REFUSED_CODES.get() {
        service.call(from(address, "made-up")).await.assert_error(401, "idp_code_invalid");
    }
    service
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
