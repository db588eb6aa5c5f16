//! `GET /feedback`.

use crate::{faulty::Fault, service::Service};
use actix_web::test::TestRequest;
use companion_domain::{
    change::Key,
    model::Feedback,
    port::{Record, StoreErrorKind},
};
use companion_testkit::world::a_feedback;
use futures_util::FutureExt as _;
use serde_json::json;
use std::collections::HashSet;

#[actix_web::test]
async fn an_entry_has_exactly_the_fields_of_the_contract() {
    let service = Service::new().await;
    service.use_cases.feed.records.put(Record::Feedback(a_feedback("one", 5))).await.unwrap();
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
        service.use_cases.feed.records.put(Record::Feedback(entry.clone())).await.unwrap();
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
async fn every_entry_comes_up() {
    let service = Service::new().await;
    for number in 0..12 {
        service
            .use_cases
            .feed
            .records
            .put(Record::Feedback(a_feedback(&format!("entry-{number}"), 5)))
            .await
            .unwrap();
    }
    let mut seen = HashSet::new();
    for _ in 0..100 {
        let data = service.get("/feedback").await.data();
        seen.extend(data.as_array().unwrap().iter().map(|entry| entry["feedback"].to_string()));
    }
    assert_eq!(seen.len(), 12);
}

#[actix_web::test]
async fn feedback_goes_on_while_the_store_is_away() {
    let service = Service::new().await;
    for number in 0..5 {
        service
            .use_cases
            .feed
            .records
            .put(Record::Feedback(a_feedback(&format!("entry-{number}"), 5)))
            .await
            .unwrap();
    }
    for fault in [Fault::Fails(StoreErrorKind::Unavailable), Fault::Hangs, Fault::Panics] {
        service.store.set(Some(fault));
        let answer = service.get("/feedback").now_or_never().unwrap();
        assert_eq!(answer.data().as_array().map(Vec::len), Some(5), "{fault:?}");
    }
}

#[actix_web::test]
async fn a_change_shows_before_it_is_answered_and_needs_no_store_then() {
    let service = Service::new().await;
    let shown = async || {
        service.store.set(Some(Fault::Hangs));
        let data = service.get("/feedback").await.data();
        service.store.set(None);
        let texts =
            data.as_array().unwrap().iter().map(|entry| entry["feedback"].as_str().unwrap().to_owned());
        texts.collect::<Vec<_>>()
    };
    let feed = &service.use_cases.feed;
    feed.records.put(Record::Feedback(a_feedback("one", 4))).await.unwrap();
    assert_eq!(shown().await, ["What I think: one"]);
    let other = Feedback { text: "Other words".parse().unwrap(), ..a_feedback("one", 4) };
    feed.records.put(Record::Feedback(other.clone())).await.unwrap();
    assert_eq!(shown().await, ["Other words"]);
    feed.records.put(Record::Feedback(a_feedback("one", 3))).await.unwrap();
    assert_eq!(shown().await, [""; 0]);
    feed.records.put(Record::Feedback(a_feedback("one", 5))).await.unwrap();
    feed.records.put(Record::Feedback(a_feedback("two", 5))).await.unwrap();
    feed.records.remove(Key::Feedback("one".parse().unwrap())).await.unwrap();
    assert_eq!(shown().await, ["What I think: two"]);
}

#[actix_web::test]
async fn what_is_kept_in_memory_is_counted() {
    let service = Service::new().await;
    let counted = async |name: &str| {
        let page = service.manage(TestRequest::get().uri("/metrics")).await.body;
        let page = String::from_utf8(page).unwrap();
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        line.unwrap_or_else(|| panic!("{name} in\n{page}"))
    };
    let sizes = async || {
        let names = ["companion_feedback_entries", "companion_feedback_bytes", "companion_team_bytes"];
        [counted(names[0]).await, counted(names[1]).await, counted(names[2]).await]
    };
    let [none, before, team]: [f64; 3] = sizes().await;
    assert_eq!(none, 0.0);
    assert!(team > 0.0, "an empty team has an answer too");
    service.use_cases.feed.records.put(Record::Feedback(a_feedback("one", 5))).await.unwrap();
    let [one, after, _]: [f64; 3] = sizes().await;
    assert_eq!(one, 1.0);
    assert!(after >= before + 100.0, "{before} to {after}");
}

#[actix_web::test]
async fn a_store_that_fails_is_told() {
    let service = Service::unloaded().await;
    service.store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
    service.get("/feedback").await.assert_error(503, "storage_unavailable");
}

#[actix_web::test]
async fn a_panic_is_answered_like_any_other_error() {
    let service = Service::unloaded().await;
    service.store.set(Some(Fault::Panics));
    service.get("/feedback").await.assert_error(500, "internal");
    service.store.set(None);
    assert_eq!(service.get("/feedback").await.status, 200);
}
