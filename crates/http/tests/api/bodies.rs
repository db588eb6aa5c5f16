//! Request bodies, which nobody needs.

use crate::service::{BODY_LIMIT, Service, post_code};
use actix_web::test::TestRequest;
use companion_storage_memory::IdentityCall;
use companion_testkit::world::a_user;

#[actix_web::test]
async fn a_small_body_is_ignored() {
    let service = Service::new().await;
    let code = service.code_of(a_user(1), vec![]);
    let body = vec![b'x'; BODY_LIMIT];
    assert_eq!(service.call(post_code(&code).set_payload(body.clone())).await.status, 200);
    assert_eq!(service.call(TestRequest::get().uri("/team").set_payload(body)).await.status, 200);
    assert_eq!(service.call(TestRequest::get().uri("/team").set_payload("{not json")).await.status, 200);
}

#[actix_web::test]
async fn a_large_body_is_refused_before_anything_is_done() {
    let service = Service::new().await;
    let code = service.code_of(a_user(1), vec![]);
    let token = service.signed_in(vec![]).await;
    let asked = service.memory.identity.calls(IdentityCall::Exchange);
    let body = vec![b'x'; BODY_LIMIT + 1];
    for request in [
        post_code(&code),
        TestRequest::get().uri("/guilds").insert_header(("Token", token)),
        TestRequest::get().uri("/team"),
        TestRequest::get().uri("/feedback"),
        TestRequest::get().uri("/"),
    ] {
        service.call(request.set_payload(body.clone())).await.assert_error(413, "body_too_large");
    }
    assert_eq!(service.memory.identity.calls(IdentityCall::Exchange), asked);
}

#[actix_web::test]
async fn a_body_that_is_announced_too_large_is_refused_unread() {
    let service = Service::new().await;
    let request = TestRequest::get().uri("/team").insert_header(("Content-Length", "10000000000"));
    service.call(request).await.assert_error(413, "body_too_large");
}

#[actix_web::test]
async fn paths_methods_and_headers_are_judged_before_the_body() {
    let service = Service::new().await;
    let body = vec![b'x'; BODY_LIMIT + 1];
    let with_body = |request: TestRequest| service.call(request.set_payload(body.clone()));
    with_body(TestRequest::post().uri("/nothing")).await.assert_error(404, "not_found");
    with_body(TestRequest::post().uri("/team")).await.assert_error(405, "method_not_allowed");
    with_body(TestRequest::post().uri("/auth")).await.assert_error(401, "idp_code_missing");
    with_body(TestRequest::get().uri("/guilds")).await.assert_error(401, "token_missing");
}
