//! `GET /feedback`.

use crate::{faulty::Fault, service::Service};
use companion_domain::port::StoreErrorKind;
use companion_testkit::world::a_feedback;
use serde_json::json;
use std::collections::HashSet;

#[actix_web::test]
async fn an_entry_has_exactly_the_fields_of_the_contract() {
    let service = Service::new().await;
    service.use_cases.feed.put_feedback(&a_feedback("one", 5)).await.unwrap();
    let answer = service.get("/feedback").await;
    let submitter = json!({
        "username": "user1", "name": "User 1", "id": "1", "avatar": "https://cdn.example/avatars/1.png"
    });
    let entry = json!({
        "feedback": "What I think: one", "rating": 5, "timestamp": 1_767_000_000, "submitter": submitter
    });
    assert_eq!(answer.data(), json!([entry]));
    assert_eq!(answer.header("cache-control"), "no-store");
}

#[actix_web::test]
async fn five_different_positive_entries_are_shown() {
    let service = Service::new().await;
    for number in 0..20 {
        let entry = a_feedback(&format!("entry-{number}"), 1 + number % 5);
        service.use_cases.feed.put_feedback(&entry).await.unwrap();
    }
    let data = service.get("/feedback").await.data();
    let entries = data.as_array().unwrap();
    let texts: HashSet<_> = entries.iter().map(|entry| entry["feedback"].to_string()).collect();
    assert_eq!((entries.len(), texts.len()), (5, 5));
    assert!(entries.iter().all(|entry| entry["rating"] == 4 || entry["rating"] == 5));
}

#[actix_web::test]
async fn without_feedback_the_list_is_empty() {
    assert_eq!(Service::new().await.get("/feedback").await.data(), json!([]));
}

#[actix_web::test]
async fn a_store_that_fails_is_told() {
    let service = Service::new().await;
    service.store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
    service.get("/feedback").await.assert_error(503, "storage_unavailable");
}

#[actix_web::test]
async fn a_panic_is_answered_like_any_other_error() {
    let service = Service::new().await;
    service.store.set(Some(Fault::Panics));
    service.get("/feedback").await.assert_error(500, "internal");
    service.store.set(None);
    assert_eq!(service.get("/feedback").await.status, 200);
}
