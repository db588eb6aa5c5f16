//! Pages about what did not work.

use crate::browser::{Browser, Site, html};
use actix_web::test::TestRequest;
use companion_domain::port::StoreErrorKind;
use companion_testkit::api::faulty::Fault;

#[actix_web::test]
async fn a_page_that_is_not_there_is_a_page_with_a_way_on() {
    let site = Site::new().await;
    let answer = site.get("/nowhere").await;
    assert_eq!((answer.status, answer.header("content-type")), (404, "text/html; charset=utf-8"));
    let page = html(&answer);
    assert!(page.contains("Page not found") && page.contains("href=\"/\""), "{page}");
    let head = site.send(TestRequest::default().method(actix_web::http::Method::HEAD).uri("/nowhere")).await;
    assert_eq!((head.status, head.body.len()), (404, 0));
}

#[actix_web::test]
async fn a_method_that_a_page_does_not_know_is_refused_with_those_that_it_does() {
    let site = Site::new().await;
    let answer = site.send(TestRequest::post().uri("/team")).await;
    assert_eq!((answer.status, answer.header("allow")), (405, "GET, HEAD, OPTIONS"));
}

#[actix_web::test]
async fn a_store_that_fails_is_said_with_when_to_try_again_and_how_to_report_it() {
    let site = Site::new().await;
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![]).await;
    site.store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
    let answer = browser.get("/devices").await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, "1"));
    let page = html(&answer);
    assert!(
        page.contains("Try again in 1 second.") && page.contains(answer.header("x-request-id")),
        "{page}"
    );
    assert!(!page.contains("told to fail"), "what went wrong is for the log");
}

#[actix_web::test]
async fn a_panic_is_a_page_too() {
    let site = Site::new().await;
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![]).await;
    site.store.set(Some(Fault::Panics));
    let answer = browser.get("/devices").await;
    assert_eq!((answer.status, answer.header("content-type")), (500, "text/html; charset=utf-8"));
    assert_eq!(answer.header("x-frame-options"), "DENY");
    assert!(html(&answer).contains("This is our mistake"));
}
