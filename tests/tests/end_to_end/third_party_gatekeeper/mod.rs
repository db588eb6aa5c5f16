//! Two ports in one embedded store: the template of `docs/adapters.md`.

#[expect(unreachable_pub, reason = "as in the separate crate that the guide shows")]
mod gatekeeper;

use self::gatekeeper::Gatekeeper;
use actix_web::{
    http::StatusCode,
    test::{TestRequest, call_service, init_service},
};
use companion_testkit::{
    service::{MANAGEMENT_KEY, TestService},
    world::a_user,
};
use std::sync::Arc;

#[actix_web::test]
async fn spends_codes_and_blocks_users_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let keeper = Arc::new(Gatekeeper::open(&folder.path().join("gatekeeper.redb")).unwrap());
    let service = TestService::with(|plan| {
        let stores = &mut plan.memory.ports.stores;
        *stores = stores.clone().with_blocked(keeper.clone());
        stores.spent_codes = keeper.clone();
    })
    .await;
    let (public, management) =
        (init_service(service.public.app()).await, init_service(service.management.app()).await);
    let sign_in = async |code: &str| {
        let request = TestRequest::post().uri("/auth").insert_header(("Idp-Code", code));
        call_service(&public, request.to_request()).await.status()
    };
    let manage = async |request: TestRequest| {
        let key = ("Authorization", format!("Bearer {MANAGEMENT_KEY}"));
        call_service(&management, request.insert_header(key).to_request()).await.status()
    };
    let code = service.memory.arrival(a_user(1), vec![]).code;
    assert_eq!(sign_in(code.expose()).await, StatusCode::OK);
    assert_eq!(sign_in(code.expose()).await, StatusCode::UNAUTHORIZED);

    let sync = |query: &str, line: &'static str| {
        TestRequest::post().uri(&format!("/bot/sync{query}")).set_payload(line)
    };
    for refused in [
        TestRequest::put().uri("/bot/blocked/1"),
        sync("", "{\"kind\": \"blocked\", \"user\": \"1\"}\n"),
        sync("?replace=blocked", ""),
    ] {
        assert_eq!(manage(refused).await, StatusCode::CONFLICT, "nothing of that reaches the file");
    }
    for (blocked, expected) in
        [(false, StatusCode::OK), (true, StatusCode::FORBIDDEN), (false, StatusCode::OK)]
    {
        keeper.set_blocked(a_user(1).id, blocked).await.unwrap();
        let code = service.memory.arrival(a_user(1), vec![]).code;
        assert_eq!(sign_in(code.expose()).await, expected, "at once");
    }
}
