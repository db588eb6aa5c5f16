//! What callers see when the clock is wrong, or is put right.

use crate::{request::put, sample::heartbeat, service::Service};
use companion_domain::port::{Clock as _, Record};
use companion_testkit::world::{a_guild, a_user, an_ownership};
use serde_json::Value;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Someone sets the clock back.
fn set_back(service: &Service, length: Duration) {
    let clock = &service.memory.clock;
    clock.set(clock.now().before(length));
}

async fn reports(service: &Service, cluster: &str, memory: f64) -> [u64; 3] {
    let body = heartbeat("0", 1_767_000_000.0, memory);
    let report = put(&format!("/bot/clusters/{cluster}/heartbeat"), &body);
    service.manage(report).await.counts()
}

async fn memory_shown(service: &Service) -> Value {
    service.get("/").await.data()["resources"]["memory"].clone()
}

#[actix_web::test]
async fn a_report_that_comes_in_after_the_clock_was_set_back_is_shown_at_once() {
    for length in [HOUR, 3 * HOUR, YEAR] {
        let service = Service::new().await;
        assert_eq!(reports(&service, "one", 2.0).await, [1, 0, 0]);
        set_back(&service, length);
        assert_eq!(memory_shown(&service).await, 2.0, "{length:?}");
        assert_eq!(reports(&service, "one", 3.0).await, [0, 1, 0]);
        assert_eq!(memory_shown(&service).await, 3.0, "{length:?}");
    }
}

#[actix_web::test]
async fn a_cluster_that_falls_silent_disappears_though_the_clock_was_set_back() {
    let service = Service::new().await;
    reports(&service, "one", 2.0).await;
    set_back(&service, HOUR);
    service.memory.clock.advance(Duration::from_secs(89));
    assert_eq!(memory_shown(&service).await, 2.0);
    service.memory.clock.advance(Duration::from_secs(1));
    assert_eq!(memory_shown(&service).await, 0.0);
}

#[actix_web::test]
async fn a_cluster_that_reports_stays_though_the_clock_is_set_forward() {
    let service = Service::new().await;
    reports(&service, "one", 2.0).await;
    let clock = &service.memory.clock;
    clock.set(clock.now().after(YEAR));
    assert_eq!(memory_shown(&service).await, 2.0);
}

#[actix_web::test]
async fn a_list_is_refreshed_and_rights_end_though_the_clock_was_set_back() {
    for length in [HOUR, 3 * HOUR, YEAR] {
        let service = Service::new().await;
        service.use_cases.feed.records.put(Record::Guild(a_guild(7))).await.unwrap();
        let token = service.signed_in(vec![an_ownership(7)]).await;
        service.memory.identity.put_user(a_user(1), vec![]);
        set_back(&service, length);
        let answer = service.guilds(&token).await;
        assert_eq!((answer.data(), answer.header("age")), (serde_json::json!([]), "0"), "{length:?}");
    }
}

#[actix_web::test]
async fn a_session_that_was_refused_as_over_stays_ended_when_the_clock_is_set_back() {
    let service = Service::new().await;
    let token = service.signed_in(vec![]).await;
    service.memory.clock.advance(8 * DAY);
    service.guilds(&token).await.assert_error(401, "token_invalid");
    set_back(&service, 2 * DAY);
    service.guilds(&token).await.assert_error(401, "token_invalid");
}

#[actix_web::test]
async fn no_clock_that_is_set_back_signs_anyone_out() {
    for length in [MINUTE, HOUR, 3 * HOUR, YEAR] {
        let service = Service::new().await;
        let token = service.signed_in(vec![]).await;
        set_back(&service, length);
        assert_eq!(service.guilds(&token).await.status, 200, "{length:?}");
        let clock = &service.memory.clock;
        clock.set(clock.now().after(length));
        assert_eq!(service.guilds(&token).await.status, 200, "{length:?}, and put right again");
    }
}
