//! What the log is told, and what it is never told.

use crate::{
    captured_log::listening,
    faulty::Fault,
    service::{Service, post_code},
};
use actix_web::test::TestRequest;
use companion_domain::port::{IdentityErrorKind, StoreErrorKind};
use companion_http::TrustedProxies;
use companion_storage_memory::IdentityCall;
use companion_testkit::world::a_user;
use futures_util::future::join;
use std::time::Duration;

#[actix_web::test]
async fn what_goes_wrong_here_is_logged_with_its_request_and_its_causes() {
    let service = Service::unloaded().await;
    let (lines, _guard) = listening();
    service.store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
    service.call(TestRequest::get().uri("/feedback").insert_header(("X-Request-Id", "the-one"))).await;
    let line = lines.take();
    assert!(line.contains(" WARN ") && line.contains("request_id=\"the-one\""), "{line}");
    assert!(line.contains("storage: cannot serve now: told to fail"), "{line}");
    for fault in [Fault::Fails(StoreErrorKind::Corrupt), Fault::Panics] {
        service.store.set(Some(fault));
        service.get("/feedback").await;
        let line = lines.take();
        assert!(line.contains("ERROR ") && line.contains("told to"), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
}

#[actix_web::test]
async fn what_callers_get_wrong_and_what_works_is_not_logged() {
    let service = Service::new().await;
    let (lines, _guard) = listening();
    for path in ["/", "/team", "/guilds", "/nothing"] {
        service.get(path).await;
    }
    assert_eq!(lines.take(), "");
}

#[actix_web::test]
async fn a_proxy_that_is_not_trusted_is_named_once_with_the_key_to_set() {
    let trusted = TrustedProxies::new(|address| address.to_string() == "10.0.0.1");
    let service = Service::with(|plan| plan.public.trusted_proxies = trusted).await;
    let (lines, _guard) = listening();
    let post = |peer: &str, client: &'static str| {
        let request = post_code("made-up").peer_addr(format!("{peer}:5000").parse().unwrap());
        request.insert_header(("X-Forwarded-For", client))
    };
    let warnings = |log: String| log.lines().filter(|line| line.contains(" WARN ")).count();
    service.call(post("10.0.0.1", "198.51.100.1")).await;
    service.call(post_code("made-up").peer_addr("203.0.113.8:5000".parse().unwrap())).await;
    assert_eq!(warnings(lines.take()), 0, "one is trusted, and the other claims nothing");

    service.call(post("203.0.113.9", "198.51.100.2, canary")).await;
    let log = lines.take();
    assert!(log.contains("peer=203.0.113.9") && log.contains("http.trusted_proxies"), "{log}");
    assert!(!log.contains("198.51.100.2") && !log.contains("canary"), "{log}");
    assert_eq!(warnings(log), 1);
    for peer in ["203.0.113.9", "203.0.113.10"] {
        service.call(post(peer, "198.51.100.3")).await;
    }
    assert_eq!(warnings(lines.take()), 0, "once is enough");
}

#[actix_web::test]
async fn a_request_that_takes_long_is_told_with_its_name_and_its_length() {
    let service = Service::new().await;
    let (lines, _guard) = listening();
    for (seconds, told) in [(1, false), (2, true)] {
        let code = service.code_of(a_user(1), vec![]);
        let calls = service.memory.identity.calls(IdentityCall::Exchange);
        let held = service.memory.identity.hold(IdentityCall::Exchange);
        let passing = async {
            service.memory.identity.called(IdentityCall::Exchange, calls + 1).await;
            service.memory.clock.advance(Duration::from_secs(seconds));
            drop(held);
        };
        let request = post_code(&code).insert_header(("X-Request-Id", "the-one"));
        let (answer, ()) = join(service.call(request), passing).await;
        assert_eq!(answer.status, 200);
        let log = lines.take();
        let line = log.lines().find(|line| line.contains("a request was slow"));
        assert_eq!(line.is_some(), told, "{log}");
        for part in [
            "WARN",
            "request_id=\"the-one\"",
            "endpoint=\"/auth\"",
            " milliseconds=2000",
            " storage_milliseconds=0",
            " provider_milliseconds=0",
            " rendering_milliseconds=0.",
        ] {
            assert!(line.is_none_or(|line| line.contains(part)), "{log}");
        }
    }
}

#[actix_web::test]
async fn every_request_is_logged_where_that_is_asked_for() {
    let service = Service::with(|plan| plan.public.access_log = true).await;
    let (lines, _guard) = listening();
    service.get("/guilds?secret=1").await;
    let line = lines.take();
    for part in
        ["INFO companion::access: answered", "method=\"GET\"", "path=\"/guilds\"", "code=401", "request_id="]
    {
        assert!(line.contains(part), "{line}");
    }
    assert!(!line.contains("secret"), "{line}");
}

#[actix_web::test]
async fn no_secret_reaches_the_log() {
    let service = Service::with(|plan| plan.public.access_log = true).await;
    let (lines, _guard) = listening();
    let token = service.signed_in(vec![]).await;
    let code = service.code_of(a_user(2), vec![]);
    let verifier = "v".repeat(43);
    let sign_in = || post_code(&code).insert_header(("Idp-Code-Verifier", &*verifier));
    for fault in [Fault::Fails(StoreErrorKind::Corrupt), Fault::Panics] {
        service.store.set(Some(fault));
        service.guilds(&token).await;
        service.call(sign_in()).await;
    }
    service.store.set(None);
    service.memory.identity.fail_with(IdentityCall::Exchange, Some(IdentityErrorKind::Failed));
    service.call(sign_in()).await;
    let log = lines.take();
    assert!(log.contains("provider_failed") && log.contains("internal"), "{log}");
    for secret in [&token, &code, &verifier] {
        assert!(!log.contains(secret.as_str()), "{log}");
    }
}
