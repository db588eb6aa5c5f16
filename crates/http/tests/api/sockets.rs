//! The public API over a real connection, and input that is not HTTP or exceeds the server's limits. The server answers
//! such input without the application; docs/api.md lists these responses.

use crate::{
    client::{Client, length, limits, listen, listen_management, listen_with},
    service::{BODY_LIMIT, Fault, Service},
};
use companion_http::{RunningServer, ServerLimits};
use companion_testkit::world::a_user;
use futures_util::future::join_all;
use serde_json::Value;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

async fn ask(listening: &RunningServer, text: &str) -> (u16, Value) {
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
async fn head_has_a_length_and_keeps_the_connection() {
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
}

#[actix_web::test]
async fn parses_header_values_as_http_requires() {
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
}

#[actix_web::test]
async fn bounds_sized_and_chunked_bodies() {
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
}

#[actix_web::test]
async fn a_panic_keeps_the_connection() {
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
}

/// Systems other than Linux may shorten the accept queue.
#[cfg(target_os = "linux")]
#[actix_web::test]
async fn accepts_a_burst_of_connections() {
    let service = Service::new().await;
    let listening = listen(&service);
    // No connection is accepted for a while, as if all threads were busy.
    listening.handle.pause().await;
    let crowd = join_all((0..400).map(|_| TcpStream::connect(listening.addr())));
    let crowd = timeout(Duration::from_secs(30), crowd).await.expect("some connections were dropped");
    assert!(crowd.iter().all(Result::is_ok));
    drop(crowd);
    listening.handle.resume().await;
    assert_eq!(ask(&listening, "GET /team HTTP/1.1\nHost: a\n\n").await.0, 200);
}

/// Upper bound of every wait in these tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Returns everything received until the server closes the connection.
pub(crate) async fn received(listening: &RunningServer, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(listening.addr()).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut bytes_received = Vec::new();
    // A client that sends more than the server reads may see a reset after the response.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut bytes_received)).await.unwrap();
    String::from_utf8(bytes_received).unwrap()
}

/// Returns the status line of a response that the server makes without the application.
async fn plain_answer(listening: &RunningServer, bytes: &[u8]) -> String {
    let received = received(listening, bytes).await;
    let (status, rest) = received.split_once("\r\n").unwrap();
    let (head, date) = rest.split_once("date: ").unwrap_or((rest, " GMT\r\n\r\n"));
    assert_eq!(head.trim_end(), "content-length: 0\r\nconnection: close", "{received}");
    assert!(date.ends_with(" GMT\r\n\r\n"), "{received}");
    status.to_owned()
}

fn with_headers(headers: &str) -> Vec<u8> {
    format!("GET /team HTTP/1.1\r\nHost: a\r\n{headers}\r\n").into_bytes()
}

fn with_target(target: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes()
}

#[actix_web::test]
async fn unparsable_requests_are_a_plain_400() {
    let service = Service::new().await;
    for listening in [listen(&service), listen_management(&service)] {
        for (what, bytes) in [
            ("no request line", b"nonsense\r\n\r\n".to_vec()),
            ("another protocol", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec()),
            ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec()),
            ("an unknown version", b"GET /team HTTP/1.2\r\nHost: a\r\n\r\n".to_vec()),
            ("two spaces", with_target(" /team")),
            ("a target that is not ASCII", with_target("/teäm")),
            ("no Host", b"GET /team HTTP/1.1\r\n\r\n".to_vec()),
            ("two Hosts", with_headers("Host: a\r\n")),
            ("a header without a colon", with_headers("nonsense\r\n")),
            ("a space in a name", with_headers("X Y: a\r\n")),
            ("a space behind a name", with_headers("X : a\r\n")),
            ("a folded value", with_headers("X: a\r\n b\r\n")),
            ("a control character", with_headers("X: a\0b\r\n")),
            ("a length that is no number", with_headers("Content-Length: x\r\n")),
            ("a length with a sign", with_headers("Content-Length: +1\r\n")),
            ("two lengths", with_headers("Content-Length: 0\r\nContent-Length: 0\r\n")),
            ("a length and an encoding", with_headers("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")),
            ("an unknown encoding", with_headers("Transfer-Encoding: gzip\r\n")),
            ("an encoding in HTTP/1.0", b"GET /team HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec()),
            ("a POST of HTTP/1.0 without a length", b"POST /auth HTTP/1.0\r\n\r\n".to_vec()),
        ] {
            assert_eq!(plain_answer(&listening, &bytes).await, "HTTP/1.1 400 Bad Request", "{what}");
        }
        listening.stop().await.unwrap();
    }
}

#[actix_web::test]
async fn too_large_heads_are_a_plain_431() {
    let service = Service::new().await;
    let listening = listen(&service);
    let headers = |count: usize| (1..count).map(|number| format!("X-{number}: a\r\n")).collect::<String>();
    for (what, bytes) in [
        ("97 headers", with_headers(&headers(97))),
        ("a head of over 16 KiB", with_headers(&format!("X: {}\r\n", "x".repeat(16_384)))),
        ("a head of over 16 KiB without an end", vec![b'x'; 16_385]),
        ("a target of over 16 KiB", with_target(&format!("/{}", "x".repeat(16_384)))),
    ] {
        let answer = plain_answer(&listening, &bytes).await;
        assert_eq!(answer, "HTTP/1.1 431 Request Header Fields Too Large", "{what}");
    }
    for (what, bytes, status) in [
        ("96 headers", with_headers(&headers(96)), 200),
        ("a head of 16 KiB", with_headers(&format!("X: {}\r\n", "x".repeat(16_340))), 200),
        ("a target of 16,000 bytes", with_target(&format!("/{}", "x".repeat(16_000))), 404),
    ] {
        assert_answered(&listening, bytes, status, what).await;
    }
}

#[actix_web::test]
async fn a_late_first_head_is_a_plain_408() {
    let service = Service::new().await;
    let short = Duration::from_millis(400);
    let listening = listen_with(&service, ServerLimits { request_head: short, patience: short, ..limits() });
    let begun = ["", "G", "GET /team HTTP/1.1\r\nHost: a\r\n", "\r\n\r\n"];
    for answer in join_all(begun.map(|begun| plain_answer(&listening, begun.as_bytes()))).await {
        assert_eq!(answer, "HTTP/1.1 408 Request Timeout");
    }
}

#[actix_web::test]
async fn garbage_after_a_request_does_not_affect_its_response() {
    let service = Service::new().await;
    let listening = listen(&service);
    let received = received(&listening, b"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\nnonsense\r\n\r\n").await;
    let (first, second) = received.split_once("}}").unwrap();
    assert!(first.starts_with("HTTP/1.1 404 ") && first.contains("\"error\":\"not_found\""), "{received}");
    assert!(second.starts_with("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n"), "{received}");
}

async fn assert_answered(listening: &RunningServer, bytes: Vec<u8>, status: u16, what: &str) {
    let mut client = Client::to(listening).await;
    client.send_bytes(&bytes).await;
    let (answered, head, json) = client.answer().await;
    assert_eq!((answered, &json["code"]), (status, &status.into()), "{what}");
    assert!(head.contains("\r\nx-request-id: "), "{what}: {head}");
}

#[actix_web::test]
async fn odd_but_valid_requests_get_an_envelope() {
    let service = Service::new().await;
    let listening = listen(&service);
    for (what, bytes, status) in [
        ("HTTP/1.0 without Host", b"GET /team HTTP/1.0\r\n\r\n".to_vec(), 200),
        ("an empty Host", b"GET /team HTTP/1.1\r\nHost:\r\n\r\n".to_vec(), 200),
        ("a Host that is none", b"GET /team HTTP/1.1\r\nHost: a b/c\r\n\r\n".to_vec(), 200),
        ("lines without carriage returns", b"GET /team HTTP/1.1\nHost: a\n\n".to_vec(), 200),
        ("empty lines before", [&b"\r\n\r\n"[..], &with_target("/team")].concat(), 200),
        ("an unknown expectation", with_headers("Expect: much\r\n"), 200),
        ("a target that is no path", with_target("team"), 404),
        ("an unknown method", b"BREW /team HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(), 405),
        ("an unused method", b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(), 405),
        ("a whole address", with_target("http://a/team"), 200),
        ("a query that is not UTF-8", with_target("/team?x=%ff"), 200),
        ("an escaped letter", with_target("/%74eam"), 200),
        ("an escaped slash", with_target("/team%2f"), 404),
        ("a way up", with_target("/../team"), 404),
        ("no target at all", b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(), 404),
        ("a broken chunk", with_headers("Transfer-Encoding: chunked\r\n\r\nzz\r\n"), 400),
    ] {
        assert_answered(&listening, bytes, status, what).await;
    }
}
