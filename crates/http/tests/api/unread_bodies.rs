//! What happens to a body that nobody reads: a small one costs nothing, an endless one costs its sender the connection.

use crate::{
    client::Client,
    listening::{limits, listen, listen_management_with, listen_with},
    service::{BODY_LIMIT, KEY, Service},
};
use companion_http::{Listening, ServerLimits};
use std::time::Duration;

/// More than anyone sends within the moment that a client has to notice that the connection is over.
const ENDLESS: usize = 1 << 30;

/// A moment is enough for a client on this machine.
fn impatient() -> ServerLimits {
    ServerLimits { disconnect: Duration::from_millis(20), ..limits() }
}

/// Sends a body without end, and expects an answer and then the end of the connection. Returns how many bytes it took.
async fn cut_off_after(listening: &Listening, head: &str, status: u16) -> usize {
    let mut client = Client::to(listening).await;
    client.send(&format!("{head}Transfer-Encoding: chunked\n\n")).await;
    let (sent, answer) = client.flood(&format!("4000\n{}\n", "x".repeat(0x4000)), ENDLESS).await;
    let head = head.lines().next().unwrap();
    assert!(sent < ENDLESS, "{head} is read without end");
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{head}: {answer}");
    assert!(answer.to_ascii_lowercase().contains("\r\nconnection: close\r\n"), "{head}: {answer}");
    assert!(answer.ends_with("}}"), "{head} is answered in full: {answer}");
    sent
}

#[actix_web::test]
async fn a_body_without_end_is_not_read_without_end() {
    let service = Service::new().await;
    let listening = listen_with(&service, impatient());
    for (line, status) in [
        ("POST /nothing", 404),
        ("POST /team", 405),
        ("POST /auth", 401),
        ("GET /guilds", 401),
        ("GET /team", 413),
    ] {
        let sent = cut_off_after(&listening, &format!("{line} HTTP/1.1\nHost: a\n"), status).await;
        println!("{line}: {status} after {sent} bytes of a body without end");
    }
    listening.stop().await.unwrap();
}

#[actix_web::test]
async fn a_body_without_end_is_not_read_without_end_by_the_management_api_either() {
    let service = Service::new().await;
    let listening = listen_management_with(&service, impatient());
    let key = format!("Authorization: Bearer {KEY}\n");
    for (line, key, status) in [
        ("PUT /bot/guilds/7", "", 401),
        ("POST /nothing", &*key, 404),
        ("PUT /bot/guilds/7", &*key, 413),
        ("POST /bot/sync?replace=nonsense", &*key, 422),
        ("POST /bot/sync", &*key, 422),
    ] {
        let sent = cut_off_after(&listening, &format!("{line} HTTP/1.1\nHost: a\n{key}"), status).await;
        println!("{line}: {status} after {sent} bytes of a body without end");
    }
    listening.stop().await.unwrap();
}

#[actix_web::test]
async fn a_small_body_that_nobody_needs_leaves_the_connection_usable() {
    let service = Service::new().await;
    let listening = listen(&service);
    let small = "x".repeat(BODY_LIMIT);
    let announced = format!("Content-Length: {BODY_LIMIT}\n\n");
    let mut client = Client::to(&listening).await;
    for (line, status) in
        [("POST /nothing", 404), ("PUT /team", 405), ("OPTIONS /team", 204), ("POST /auth", 401)]
    {
        let head = format!("{line} HTTP/1.1\nHost: a\n{announced}");
        client.send(&format!("{head}{small}")).await;
        assert_eq!(client.answer().await.0, status, "{line}, with its body");
        client.send(&head).await;
        client.send(&small).await;
        let (answered, head, _) = client.answer().await;
        assert_eq!(answered, status, "{line}, and then its body");
        assert!(!head.contains("connection: close"), "{head}");
    }
    listening.stop().await.unwrap();
}

#[actix_web::test]
async fn a_body_that_is_announced_too_large_is_not_waited_for() {
    let service = Service::new().await;
    let listening = listen(&service);
    for (line, status) in [("POST /nothing", 404), ("GET /team", 413)] {
        let mut client = Client::to(&listening).await;
        client.send(&format!("{line} HTTP/1.1\nHost: a\nContent-Length: {}\n\n", BODY_LIMIT + 1)).await;
        let (answered, head, _) = client.answer().await;
        assert_eq!(answered, status);
        assert!(head.contains("\r\nconnection: close\r\n"), "{head}");
    }
    listening.stop().await.unwrap();
}

#[actix_web::test]
async fn a_body_that_does_not_come_is_not_waited_for_long() {
    let service = Service::new().await;
    let listening = listen(&service);
    let mut client = Client::to(&listening).await;
    client.send("POST /nothing HTTP/1.1\nHost: a\nContent-Length: 5\n\n").await;
    let (answered, head, _) = client.answer().await;
    assert_eq!(answered, 404);
    assert!(head.contains("\r\nconnection: close\r\n"), "{head}");
    listening.stop().await.unwrap();
}
