//! Pipelining: requests on one connection are answered in order, one at a time, whatever their bodies.

use crate::{
    client::{Client, eventually, limits, listen, listen_management_with, listen_with},
    service::{KEY, Service},
    sockets::{PATIENCE, received},
};
use companion_http::ServerLimits;
use companion_storage_memory::IdentityCall;
use companion_testkit::world::a_user;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// Returns for each response its status, whether it has a body, and whether it closes the connection.
fn parse_responses(answers: &str) -> Vec<(&str, bool, bool)> {
    let mut rest = answers;
    let mut found = Vec::new();
    while let Some((head, after)) = rest.split_once("\r\n\r\n") {
        assert!(head.starts_with("http/1."), "not a response: {head:?} in {answers}");
        let body = after.find("http/1.").unwrap_or(after.len());
        found.push((&head[9..12], body > 0, head.contains("\r\nconnection: close")));
        rest = &after[body..];
    }
    found
}

#[actix_web::test]
async fn answers_pipelined_requests_in_order() {
    let service = Service::new().await;
    let listening = listen(&service);
    let get = "GET /team HTTP/1.1\r\nHost: a\r\n\r\n";
    let head = "HEAD /team HTTP/1.1\r\nHost: a\r\n\r\n";
    let get_with_body = "GET /team HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody";
    // Its body looks like the end of a head.
    let post = format!("POST /auth HTTP/1.1\r\nHost: a\r\nContent-Length: 160\r\n\r\n{}", "\r\n".repeat(80));
    let last = "GET /team HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let of = |requests: &[&str]| requests.concat().into_bytes();
    let (got, headed, ended) = (("200", true, false), ("200", false, false), ("200", true, true));
    let posted = ("401", true, false);
    for (sent, expected) in [
        (of(&[get_with_body, head, last]), vec![got, headed, ended]),
        (of(&[&post, head, get, last]), vec![posted, headed, got, ended]),
        (of(&[head, get, head, last]), vec![headed, got, headed, ended]),
        (of(&[get, last, get, get]), vec![got, ended]),
        (of(&[&get.repeat(50), last]), [vec![got; 50], vec![ended]].concat()),
        (of(&["\r\n\n", get, "\n\r\n", &get.replace("\r\n", "\n"), last]), vec![got, got, ended]),
        (of(&[get, "GET /team HTTP/1.0\r\n\r\n", get]), vec![got, ended]),
    ] {
        let answers = received(&listening, &sent).await.to_ascii_lowercase();
        let mut found = parse_responses(&answers);
        // HTTP/1.0 announces the close by closing.
        if let Some((_, _, says_last)) = found.last_mut() {
            *says_last = true;
        }
        assert_eq!(found, expected, "{:?}: {answers}", String::from_utf8_lossy(&sent));
    }
}

#[actix_web::test]
async fn accepts_requests_byte_by_byte() {
    let service = Service::new().await;
    let listening = listen(&service);
    let mut stream = TcpStream::connect(listening.addr()).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let post = "POST /auth HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n\r\n\r\n";
    let last = "POST /auth HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    for byte in format!("{post}{post}{last}").bytes() {
        stream.write_all(&[byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut received = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut received)).await.unwrap().unwrap();
    let statuses: Vec<_> =
        parse_responses(&received.to_ascii_lowercase()).iter().map(|answer| answer.0 == "401").collect();
    assert_eq!(statuses, [true; 3], "{received}");
}

#[actix_web::test]
async fn ignores_data_after_chunked_tunnel_and_large_head_requests() {
    let service = Service::new().await;
    let listening = listen(&service);
    let hidden = "HEAD /team HTTP/1.0\r\nHost: a\r\n\r\nGET /team HTTP/1.1\r\nHost: a\r\n\r\n";
    // More than a socket buffers: closing it unread would reset the connection and lose the response.
    let flood = "x".repeat(300_000);
    let large = format!("GET /team HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(15_000));
    for (request, status) in [
        ("POST /auth HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", "401"),
        ("GET /team HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n", "200"),
        ("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", "404"),
        ("GET /nothing HTTP/1.1\r\nHost: a\r\nUpgrade: WebSocket\r\n\r\n", "404"),
        ("GET /team HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\n", "200"),
        ("POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n", "404"),
        (&large, "200"),
    ] {
        for rest in ["", hidden, &flood] {
            let answers =
                received(&listening, format!("{request}{rest}").as_bytes()).await.to_ascii_lowercase();
            assert_eq!(parse_responses(&answers), [(status, true, true)], "{request}: {answers}");
        }
    }
}

#[actix_web::test]
async fn a_half_closed_client_gets_all_responses() {
    let service = Service::new().await;
    let listening = listen(&service);
    let mut stream = TcpStream::connect(listening.addr()).await.unwrap();
    let held = service.memory.identity.hold(IdentityCall::Exchange);
    let code = service.code_of(a_user(1), vec![]);
    let sign_in = format!("POST /auth HTTP/1.1\r\nHost: a\r\nIdp-Code: {code}\r\n\r\n");
    let get = "GET /team HTTP/1.1\r\nHost: a\r\n\r\n".repeat(200);
    stream.write_all(format!("{sign_in}{get}").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    service.memory.identity.called(IdentityCall::Exchange, 1).await;
    drop(held);
    let mut received = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut received)).await.unwrap().unwrap();
    assert_eq!(parse_responses(&received.to_ascii_lowercase()).len(), 201);
}

#[actix_web::test]
async fn an_abandoned_stream_frees_its_connection() {
    let service = Service::new().await;
    let limits = ServerLimits { connections: 1, connections_per_address: 1, ..limits() };
    let listening = listen_management_with(&service, limits);
    let stream = format!("GET /bot/changes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {KEY}\r\n\r\n");
    // Alone, and with pipelined requests that are never answered.
    for rest in ["", "GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n", &"x".repeat(10_000)] {
        // The previous connection may still be closing, and only one is allowed.
        eventually(async || {
            let mut client = TcpStream::connect(listening.addr()).await.unwrap();
            let mut head = vec![0; 4096];
            client.write_all(format!("{stream}{rest}").as_bytes()).await.is_ok()
                && client.read(&mut head).await.is_ok_and(|read| {
                    let head = String::from_utf8_lossy(&head[..read]).to_ascii_lowercase();
                    head.starts_with("http/1.1 200 ") && head.contains("\r\nconnection: close\r\n")
                })
        })
        .await;
    }
}

#[actix_web::test]
async fn slow_responses_are_not_timed_out() {
    let service = Service::new().await;
    let limits = ServerLimits {
        patience: Duration::from_millis(300),
        keep_alive: Duration::from_millis(300),
        ..limits()
    };
    let listening = listen_with(&service, limits);
    let held = service.memory.identity.hold(IdentityCall::Exchange);
    let mut client = Client::to(&listening).await;
    let code = service.code_of(a_user(1), vec![]);
    client.send(&format!("POST /auth HTTP/1.1\nHost: a\nIdp-Code: {code}\n\nGET /te")).await;
    service.memory.identity.called(IdentityCall::Exchange, 1).await;
    // A connection that is cut off shows that more than every timeout has passed.
    let mut late = TcpStream::connect(listening.addr()).await.unwrap();
    late.write_all(b"G").await.unwrap();
    timeout(PATIENCE, late.read_to_end(&mut Vec::new())).await.unwrap().unwrap();
    drop(held);
    assert_eq!(client.answer().await.0, 200);
    client.send("am HTTP/1.1\nHost: a\n\n").await;
    assert_eq!(client.answer().await.0, 200);
}
