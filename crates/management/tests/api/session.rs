//! Sessions and stored data of users.

use crate::service::{Service, post_code};
use crate::{delete, sample, sync};
use actix_web::test::TestRequest;
use companion_domain::port::Clock as _;
use companion_testkit::world::{a_user, an_ownership, user_id};
use serde_json::{Value, json};
use std::time::Duration;

async fn sessions(service: &Service, user: u64) -> Value {
    let list = service.manage(TestRequest::get().uri(&format!("/sessions?user={user}"))).await;
    assert_eq!(list.header("cache-control"), "no-store");
    list.data()
}

fn sign_out(token: &str) -> TestRequest {
    TestRequest::post().uri("/sessions/sign-out").insert_header(("Token", token))
}

async fn token_of(service: &Service, user: u64) -> String {
    let answer = service.call(post_code(&service.code_of(a_user(user), vec![]))).await;
    answer.data()["token"].as_str().unwrap().to_owned()
}

#[actix_web::test]
async fn lists_sessions_without_tokens() {
    let service = Service::new().await;
    assert_eq!(sessions(&service, 1).await, json!([]));
    let first = token_of(&service, 1).await;
    service.memory.clock.advance(Duration::from_secs(10));
    let second = token_of(&service, 1).await;
    let list = sessions(&service, 1).await;
    let made = service.memory.clock.now().seconds();
    let expected = |made: i64| {
        json!({
            "id": null, "user": "1", "created": made, "seen": made, "ends": made + 7 * 86_400, "user_agent": null,
        })
    };
    let mut shown = list.clone();
    for session in shown.as_array_mut().unwrap() {
        let id = session["id"].take();
        assert!(
            id.as_str().is_some_and(|id| id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
        );
    }
    assert_eq!(shown, json!([expected(made - 10), expected(made)]), "the oldest first");
    for token in [&first, &second] {
        let secret = token.trim_start_matches("cmp_");
        assert!(!list.to_string().contains(secret));
    }
    service.memory.clock.advance(Duration::from_secs(7 * 86_400 - 5));
    assert_eq!(
        sessions(&service, 1).await.as_array().map(Vec::len),
        Some(1),
        "expired sessions are not listed"
    );
}

#[actix_web::test]
async fn ends_one_session_only() {
    let service = Service::new().await;
    let (first, second) = (token_of(&service, 1).await, token_of(&service, 1).await);
    let id = sessions(&service, 1).await[0]["id"].as_str().unwrap().to_uppercase();
    assert_eq!(service.manage(delete(&format!("/sessions/{id}"))).await.counts(), [0, 0, 1]);
    assert_eq!(service.manage(delete(&format!("/sessions/{id}"))).await.counts(), [0, 0, 0]);
    assert_eq!(sessions(&service, 1).await.as_array().map(Vec::len), Some(1));
    let mut alive = [service.guilds(&first).await.status, service.guilds(&second).await.status];
    alive.sort_unstable();
    assert_eq!(alive, [200, 401]);
    assert!(service.memory.identity.is_authorised(user_id(1)), "the grant is still used");
}

#[actix_web::test]
async fn signs_a_user_out_by_token() {
    let service = Service::new().await;
    let token = token_of(&service, 1).await;
    assert_eq!(service.manage(sign_out(&token)).await.counts(), [0, 0, 1]);
    service.manage(sign_out(&token)).await.assert_error(401, "token_invalid");
    service.guilds(&token).await.assert_error(401, "token_invalid");
    service.memory.scheduler.settled().await;
    assert!(!service.memory.identity.is_authorised(user_id(1)));
}

#[actix_web::test]
async fn shows_and_forgets_all_data_of_a_user() {
    let service = Service::new().await;
    let about = || service.manage(TestRequest::get().uri("/users/5"));
    about().await.assert_error(404, "not_found");
    let signed_in = service.call(post_code(&service.code_of(a_user(5), vec![an_ownership(9)]))).await;
    let token = signed_in.data()["token"].as_str().unwrap().to_owned();
    service.manage(sync("", &sample::world())).await;
    let answer = about().await;
    assert_eq!(answer.header("cache-control"), "no-store");
    let mut stored = answer.data();
    let made = service.memory.clock.now().seconds();
    let session = stored["sessions"][0].take();
    assert_eq!((session["created"].as_i64(), session["seen"].as_i64()), (Some(made), Some(made)));
    assert_eq!(session["id"].as_str().map(str::len), Some(64));
    let mut said = sample::feedback();
    said["id"] = json!("f");
    assert_eq!(
        stored,
        json!({
            "user": "5",
            "sessions": [null],
            "grant": {
                "tokens": true, "name": "User 5", "avatar": "https://cdn.example/avatars/5.png", "fetched": made,
                "guilds": [{"guild": "9", "owner": true, "permissions": "0"}],
                "without_bot": [{"guild": "9", "name": "Guild 9", "icon": null}],
            },
            "members": [{"guild": "7", "roles": ["70"]}],
            "plus": {"guilds": ["7"], "slots": 1},
            "staff": ["SUPPORT"],
            "feedback": [said],
            "settings": [],
        })
    );
    assert!(!String::from_utf8_lossy(&answer.body).contains(token.trim_start_matches("cmp_")));
    service.manage(delete("/users/5")).await;
    about().await.assert_error(404, "not_found");
}
