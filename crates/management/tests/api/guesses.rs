//! Whoever tries keys is held up; whoever has one is not.

use crate::{
    answer::Answer,
    captured_log::listening_to_json,
    service::{KEY, METRICS_KEY, Service},
};
use actix_web::test::TestRequest;
use companion_domain::model::Secret;
use companion_http::TrustedProxies;
use std::time::Duration;

const ATTEMPTS: usize = 40;
const HOUR: Duration = Duration::from_secs(60 * 60);
const INSTANT: Duration = Duration::from_millis(1);

fn with_key(address: &str, key: &str) -> TestRequest {
    let request = TestRequest::get().uri("/metrics").peer_addr(format!("{address}:5000").parse().unwrap());
    request.insert_header(("Authorization", format!("Bearer {key}")))
}

fn assert_held_up(answer: &Answer) {
    answer.assert_error(429, "rate_limited");
    assert_eq!(answer.header("retry-after"), "1");
}

/// Tries one key after another without a pause. Returns how many of them were looked at.
async fn guess(service: &Service, address: &str) -> usize {
    let mut looked_at = 0;
    for attempt in 0..ATTEMPTS {
        let answer = service.call_management(with_key(address, &format!("guess-number-{attempt}"))).await;
        match answer.status {
            401 => looked_at += 1,
            _ => assert_held_up(&answer),
        }
    }
    looked_at
}

/// A service at which this address has guessed too often.
pub(crate) async fn guessed_by(address: &str) -> Service {
    let service = Service::new().await;
    guess(&service, address).await;
    service
}

#[actix_web::test]
async fn an_address_may_try_a_few_keys_a_second() {
    tokio::time::pause();
    let service = Service::new().await;
    let first = guess(&service, "203.0.113.9").await;
    tokio::time::advance(Duration::from_secs(1)).await;
    let second = guess(&service, "203.0.113.9").await;
    println!("{ATTEMPTS} keys tried within a second: {first} looked at; in the next second: {second}");
    assert_eq!((first, second), (5, 5));
}

#[actix_web::test]
async fn a_guesser_who_is_held_up_learns_nothing_not_even_by_the_right_key() {
    tokio::time::pause();
    let service = guessed_by("203.0.113.9").await;
    assert_held_up(&service.call_management(with_key("203.0.113.9", KEY)).await);
    assert_eq!(service.call_management(with_key("203.0.113.10", KEY)).await.status, 200, "nobody else waits");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(service.call_management(with_key("203.0.113.9", KEY)).await.status, 200);
}

#[actix_web::test]
async fn a_key_used_within_the_hour_opens_although_its_address_guesses_and_frees_no_other() {
    tokio::time::pause();
    let service = Service::new().await;
    let call = async |key: &str| service.call_management(with_key("203.0.113.9", key)).await;
    assert_eq!(call(METRICS_KEY).await.status, 200);
    for passed in [Duration::ZERO, HOUR - INSTANT] {
        tokio::time::advance(passed).await;
        assert_eq!(guess(&service, "203.0.113.9").await, 5, "a right key frees nobody from the limit");
        assert_eq!(call(METRICS_KEY).await.status, 200);
        assert_held_up(&call(KEY).await);
    }
    tokio::time::advance(HOUR).await;
    assert_eq!(guess(&service, "203.0.113.9").await, 5);
    assert_held_up(&call(METRICS_KEY).await);
}

#[actix_web::test]
async fn a_key_that_was_exchanged_opens_as_the_one_before_did() {
    tokio::time::pause();
    let mut keys = None;
    let service = Service::with(|plan| keys = Some(plan.management.keys.clone())).await;
    assert_eq!(service.call_management(with_key("203.0.113.9", METRICS_KEY)).await.status, 200);
    let next = "the next key of the monitoring";
    assert_eq!(keys.unwrap().exchange(&"monitoring".parse().unwrap(), &Secret::new(next.into())), Ok(true));
    guess(&service, "203.0.113.9").await;
    assert_eq!(service.call_management(with_key("203.0.113.9", next)).await.status, 200);
    assert_held_up(&service.call_management(with_key("203.0.113.9", METRICS_KEY)).await);
}

#[actix_web::test]
async fn behind_a_trusted_proxy_each_client_counts_for_itself() {
    tokio::time::pause();
    let service = Service::with(|plan| {
        plan.management.trusted_proxies = TrustedProxies::new(|address| address.is_loopback());
    })
    .await;
    let through =
        |client: &str, key: &str| with_key("127.0.0.1", key).insert_header(("X-Forwarded-For", client));
    for _ in 0..5 {
        service.call_management(through("203.0.113.9", "guess")).await.assert_error(401, "key_invalid");
    }
    assert_held_up(&service.call_management(through("203.0.113.9", KEY)).await);
    assert_eq!(service.call_management(through("203.0.113.10", KEY)).await.status, 200);
}

#[actix_web::test]
async fn wrong_keys_are_in_the_trail_and_counted_there() {
    tokio::time::pause();
    let service = Service::new().await;
    let (lines, _guard) = listening_to_json();
    guess(&service, "203.0.113.9").await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    let log = lines.take();
    assert_eq!(log.lines().count(), 4, "{log}");
    for (outcome, repeated) in [("key_invalid", 4), ("rate_limited", ATTEMPTS - 6)] {
        let told = |line: &&str| line.contains(outcome) && line.contains("use_management_key");
        assert_eq!(log.lines().filter(told).count(), 2, "{log}");
        assert!(
            log.contains(&format!(
                r#""outcome":"{outcome}","by":"stranger","client":"203.0.113.9","repeated":{repeated}"#
            )),
            "{log}"
        );
    }
}
