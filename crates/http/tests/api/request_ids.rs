//! `X-Request-Id`.

use crate::service::Service;
use actix_web::test::TestRequest;

#[actix_web::test]
async fn a_valid_name_is_kept_in_every_kind_of_answer() {
    let service = Service::new().await;
    for path in ["/", "/team", "/guilds", "/nothing"] {
        let answer =
            service.call(TestRequest::get().uri(path).insert_header(("X-Request-Id", "a-Z_0.9"))).await;
        assert_eq!(answer.header("x-request-id"), "a-Z_0.9");
    }
    let refused = TestRequest::get().uri("/guilds").insert_header(("X-Request-Id", "mine"));
    assert_eq!(service.call(refused).await.json()["data"]["request_id"], "mine");
}

#[actix_web::test]
async fn every_other_request_gets_a_name_of_its_own() {
    let service = Service::new().await;
    let first = service.get("/team").await.header("x-request-id").to_owned();
    let second = service.get("/team").await.header("x-request-id").to_owned();
    assert_ne!(first, second);
    for name in [first, second] {
        assert!(name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
    }
    for sent in ["", "with space", "<script>", &"x".repeat(65)] {
        let answer =
            service.call(TestRequest::get().uri("/team").insert_header(("X-Request-Id", sent))).await;
        assert_eq!(answer.header("x-request-id").len(), 32, "{sent}");
    }
}
