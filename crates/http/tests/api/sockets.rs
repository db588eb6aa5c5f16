//! The public API over a real connection.

use crate::{
    client::{Client, length},
    eventually::eventually,
    faulty::Fault,
    listening::{limits, listen, listen_with},
    service::{BODY_LIMIT, Service},
};
use companion_domain::port::SessionStore as _;
use companion_http::{Listening, ServerLimits};
use companion_storage_memory::IdentityCall;
use companion_testkit::world::{a_user, user_id};
use futures_util::future::join_all;
use serde_json::Value;
use std::time::{Duration, Instant};
use tokio::{net::TcpStream, time::timeout};

async fn ask(listening: &Listening, text: &str) -> (u16, Value) {
    let mut client = Client::to(listening).await;
    client.send(text).await;
    let (status, head, json) = client.answer().await;
    assert!(
        head.contains("\r\nx-request-id: ") && head.contains("\r\ncontent-type: application/json\r\n"),
        "{head}"
    );
    assert_eq!(json["code"], status);
    (status, json["data"]["error"].clone())
}

#[actix_web::test]
async fn head_announces_a_length_and_leaves_the_connection_usable() {
    let service = Service::new().await;
    let listening = listen(&service);
    let mut client = Client::to(&listening).await;
    client.send("HEAD /team HTTP/1.1\nHost: a\n\n").await;
    let announced = length(&client.head().await);
    client.send("GET /team HTTP/1.1\nHost: a\n\n").await;
    let (status, head, json) = client.answer().await;
    assert_eq!((status, json["code"].as_u64(), length(&head)), (200, Some(200), announced));
    client.send("OPTIONS /team HTTP/1.1\nHost: a\n\nGET /team HTTP/1.1\nHost: a\n\n").await;
    let head = client.head().await;
    assert!(head.starts_with("http/1.1 204 ") && !head.contains("content-length"), "{head}");
    assert_eq!(client.answer().await.0, 200);
    listening.stop().await.unwrap();
}

#[actix_web::test]
async fn headers_are_read_as_http_means_them() {
    let service = Service::new().await;
    let listening = listen(&service);
    let padded =
        format!("POST /auth HTTP/1.1\nHost: a\nIdp-Code: \t {} \t \n\n", service.code_of(a_user(1), vec![]));
    assert_eq!(ask(&listening, &padded).await.0, 200);
    let with = |headers: &str| format!("GET /guilds HTTP/1.1\nHost: a\n{headers}\n");
    assert_eq!(ask(&listening, &with("Token:  \t \n")).await, (401, "token_missing".into()));
    assert_eq!(ask(&listening, &with("Token: a\nTOKEN: a\n")).await, (400, "header_invalid".into()));
    assert_eq!(ask(&listening, &with("Token: ä\n")).await, (400, "header_invalid".into()));
    let long = "x".repeat(16_000);
    assert_eq!(ask(&listening, &with(&format!("Token: {long}\n"))).await, (401, "token_invalid".into()));
    listening.stop().await.unwrap();
}

#[actix_web::test]
async fn odd_request_lines_get_an_envelope_too() {
    let service = Service::new().await;
    let listening = listen(&service);
    for (line, status) in [
        ("BREW /team", 405),
        ("TRACE /", 405),
        ("GET http://a/team", 200),
        ("GET /team?x=%ff", 200),
        ("GET /%74eam", 200),
        ("GET /team%2f", 404),
        ("GET /../team", 404),
        ("OPTIONS *", 404),
    ] {
        assert_eq!(ask(&listening, &format!("{line} HTTP/1.1\nHost: a\n\n")).await.0, status, "{line}");
    }
    listening.stop().await.unwrap();
}

#[actix_web::test]
async fn bodies_are_bounded_however_they_come() {
    let service = Service::new().await;
    let listening = listen(&service);
    let announced = "GET /team HTTP/1.1\nHost: a\nContent-Length: 1000000000\n\n";
    assert_eq!(ask(&listening, announced).await, (413, "body_too_large".into()));
    let chunk = format!("{:x}\n{}\n", BODY_LIMIT, "x".repeat(BODY_LIMIT));
    let chunked =
        |rest: &str| format!("GET /team HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n{chunk}{rest}");
    assert_eq!(ask(&listening, &chunked("0\n\n")).await.0, 200);
    assert_eq!(ask(&listening, &chunked("1\nx\n")).await, (413, "body_too_large".into()));
    assert_eq!(ask(&listening, &chunked("nonsense\n")).await, (400, "body_invalid".into()));
    listening.stop().await.unwrap();
}

#[actix_web::test]
async fn a_panic_costs_one_answer_and_not_the_connection() {
    let service = Service::unloaded().await;
    let listening = listen(&service);
    let mut client = Client::to(&listening).await;
    service.store.set(Some(Fault::Panics));
    client.send("GET /feedback HTTP/1.1\nHost: a\nOrigin: https://dashboard.example\n\n").await;
    let (status, head, json) = client.answer().await;
    assert_eq!((status, &json["data"]["error"]), (500, &"internal".into()));
    assert!(head.contains("access-control-allow-origin: https://dashboard.example\r\n"), "{head}");
    service.store.set(None);
    client.send("GET /feedback HTTP/1.1\nHost: a\n\n").await;
    assert_eq!(client.answer().await.0, 200);
    listening.stop().await.unwrap();
}

#[actix_web::test]
async fn a_client_that_hangs_up_does_not_undo_its_sign_in() {
    let service = Service::new().await;
    let listening = listen(&service);
    let held = service.memory.identity.hold(IdentityCall::Exchange);
    let mut client = Client::to(&listening).await;
    client
        .send(&format!("POST /auth HTTP/1.1\nHost: a\nIdp-Code: {}\n\n", service.code_of(a_user(1), vec![])))
        .await;
    service.memory.identity.called(IdentityCall::Exchange, 1).await;
    drop(client);
    // Another request on the same worker gives it the time to notice.
    assert_eq!(ask(&listening, "GET /team HTTP/1.1\nHost: a\n\n").await.0, 200);
    drop(held);
    eventually(async || !service.memory.storage.of_user(user_id(1)).await.unwrap().is_empty()).await;
    listening.stop().await.unwrap();
}

#[actix_web::test]
async fn stopping_finishes_what_was_begun_and_waits_for_no_idler() {
    let service = Service::new().await;
    let listening = listen(&service);
    let addr = listening.addr();
    let mut idle = Client::to(&listening).await;
    idle.send("GET /team HTTP/1.1\nHost: a\n\n").await;
    assert_eq!(idle.answer().await.0, 200);
    let mut busy = Client::to(&listening).await;
    let held = service.memory.identity.hold(IdentityCall::Exchange);
    busy.send(&format!("POST /auth HTTP/1.1\nHost: a\nIdp-Code: {}\n\n", service.code_of(a_user(1), vec![])))
        .await;
    service.memory.identity.called(IdentityCall::Exchange, 1).await;
    let begun = Instant::now();
    let stopped = actix_web::rt::spawn(listening.stop());
    eventually(async || TcpStream::connect(addr).await.is_err()).await;
    drop(held);
    assert_eq!(busy.answer().await.0, 200);
    stopped.await.unwrap().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[actix_web::test]
async fn stopping_is_over_in_time_whatever_still_runs() {
    let service = Service::new().await;
    let drain = Duration::from_millis(300);
    let listening = listen_with(&service, ServerLimits { drain, ..limits() });
    let mut busy = Client::to(&listening).await;
    let _held = service.memory.identity.hold(IdentityCall::Exchange);
    busy.send(&format!("POST /auth HTTP/1.1\nHost: a\nIdp-Code: {}\n\n", service.code_of(a_user(1), vec![])))
        .await;
    service.memory.identity.called(IdentityCall::Exchange, 1).await;
    let begun = Instant::now();
    listening.stop().await.unwrap();
    // The usual limit is longer than this.
    assert!((drain..Duration::from_secs(4)).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

/// Systems other than Linux may let fewer wait than a listener asks for.
#[cfg(target_os = "linux")]
#[actix_web::test]
async fn a_crowd_that_comes_at_once_is_let_in() {
    let service = Service::new().await;
    let listening = listen(&service);
    // Nobody is accepted for a while, as when all threads are busy.
    listening.handle.pause().await;
    let crowd = join_all((0..400).map(|_| TcpStream::connect(listening.addr())));
    let crowd = timeout(Duration::from_secs(30), crowd).await.expect("some were left to try again");
    assert!(crowd.iter().all(Result::is_ok));
    drop(crowd);
    listening.handle.resume().await;
    assert_eq!(ask(&listening, "GET /team HTTP/1.1\nHost: a\n\n").await.0, 200);
    listening.stop().await.unwrap();
}
