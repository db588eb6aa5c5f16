//! Slow and numerous clients, at every stage of a connection; and work that continues after a disconnect.

use crate::{
    client::{Client, eventually, limits, listen, listen_management_with, listen_with},
    service::{BODY_LIMIT, KEY, Service, post_code},
    sockets::PATIENCE,
};
use companion_domain::port::SessionStore as _;
use companion_http::{RunningServer, ServerLimits};
use companion_storage_memory::IdentityCall;
use companion_testkit::world::{a_user, user_id};
use futures_util::{FutureExt as _, future::join_all};
use std::{pin::pin, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::{Instant, timeout},
};

const REQUEST: &str = "GET /team HTTP/1.1\nHost: a\n\n";

fn impatient() -> ServerLimits {
    let short = Duration::from_millis(400);
    ServerLimits { request_head: short, patience: short, ..limits() }
}

/// Waits until the server closes the connection, discarding what it sends.
async fn is_over(mut stream: TcpStream) {
    let mut bytes = vec![0; 1 << 16];
    let reading = async { while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {} };
    timeout(PATIENCE, reading).await.unwrap();
}

/// Sends a request, which must be answered.
async fn assert_served(client: &mut Client) {
    client.send(REQUEST).await;
    assert_eq!(client.answer().await.0, 200);
}

async fn connected(listening: &RunningServer) -> TcpStream {
    TcpStream::connect(listening.addr()).await.unwrap()
}

#[actix_web::test]
async fn times_out_an_unfinished_later_head() {
    let service = Service::new().await;
    let listening = listen_with(&service, impatient());
    join_all(["G", "\n\n", "GET /team HTTP/1.1\n"].map(async |rest| {
        // After the response, and pipelined with the request before it.
        let mut after = Client::to(&listening).await;
        assert_served(&mut after).await;
        after.send(rest).await;
        let mut together = Client::to(&listening).await;
        together.send(&format!("{REQUEST}{rest}")).await;
        assert_eq!(together.answer().await.0, 200);
        join_all([after, together].map(|client| is_over(client.into_stream()))).await;
    }))
    .await;
}

#[actix_web::test]
async fn keeps_idle_connections_alive() {
    let service = Service::new().await;
    let listening = listen_with(&service, impatient());
    let mut kept = Client::to(&listening).await;
    assert_served(&mut kept).await;
    // Connections that are cut off show that more than every timeout has passed.
    for _ in 0..2 {
        is_over(connected(&listening).await).await;
    }
    assert_served(&mut kept).await;
}

#[cfg(target_os = "linux")]
#[actix_web::test]
async fn cuts_off_clients_with_unacknowledged_responses() {
    let service = Service::new().await;
    let listening = listen_with(&service, ServerLimits { connections_per_address: 1, ..impatient() });
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(1024).unwrap();
    let mut stalled = socket.connect(listening.addr()).await.unwrap();
    // More than the receive buffer holds, and less than blocks the server.
    let requests = REQUEST.replace('\n', "\r\n").repeat(64);
    stalled.write_all(requests.as_bytes()).await.unwrap();
    eventually(async || is_answered(&listening).await).await;
}

/// Returns whether a new connection is served.
async fn is_answered(listening: &RunningServer) -> bool {
    let mut stream = connected(listening).await;
    let request = REQUEST.replace('\n', "\r\n");
    stream.write_all(request.as_bytes()).await.is_ok()
        && stream.read(&mut [0; 64]).await.is_ok_and(|read| read > 0)
}

#[actix_web::test]
async fn a_timed_out_sign_in_runs_to_completion() {
    tokio::time::pause();
    let service = Service::new().await;
    let code = service.code_of(a_user(1), vec![]);
    let held = service.memory.identity.hold(IdentityCall::Guilds);
    let begun = Instant::now();
    service.call(post_code(&code)).await.assert_error(504, "provider_timeout");
    assert_eq!(begun.elapsed().as_secs(), 7);
    drop(held);
    until_signed_in(&service).await;
}

#[actix_web::test]
async fn a_sign_in_survives_a_disconnect() {
    let service = Service::new().await;
    let code = service.code_of(a_user(1), vec![]);
    let held = service.memory.identity.hold(IdentityCall::Exchange);
    {
        let mut call = pin!(service.call(post_code(&code)));
        eventually(async || {
            assert!(call.as_mut().now_or_never().is_none(), "the provider has not responded yet");
            service.memory.identity.calls(IdentityCall::Exchange) == 1
        })
        .await;
    }
    assert_eq!(service.memory.storage.of_user(user_id(1)).await.unwrap(), []);
    drop(held);
    until_signed_in(&service).await;
}

async fn until_signed_in(service: &Service) {
    eventually(async || !service.memory.storage.of_user(user_id(1)).await.unwrap().is_empty()).await;
}

/// More than can be sent before the client notices that the connection is closed.
const ENDLESS: usize = 1 << 30;

/// A short disconnect timeout, sufficient for local clients.
fn hasty() -> ServerLimits {
    ServerLimits { disconnect: Duration::from_millis(20), ..limits() }
}

/// Sends an endless body, and expects a response and the end of the connection.
async fn assert_cut_off(listening: &RunningServer, head: &str, status: u16) {
    let mut client = Client::to(listening).await;
    client.send(&format!("{head}Transfer-Encoding: chunked\n\n")).await;
    let (sent, answer) = client.flood(&format!("4000\n{}\n", "x".repeat(0x4000)), ENDLESS).await;
    let head = head.lines().next().unwrap();
    assert!(sent < ENDLESS, "{head} is read endlessly");
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{head}: {answer}");
    assert!(answer.to_ascii_lowercase().contains("\r\nconnection: close\r\n"), "{head}: {answer}");
    assert!(answer.ends_with("}}"), "{head} is answered in full: {answer}");
}

#[actix_web::test]
async fn bounds_what_is_read_of_endless_bodies() {
    let service = Service::new().await;
    let public = listen_with(&service, hasty());
    let management = listen_management_with(&service, hasty());
    let key = format!("Authorization: Bearer {KEY}\n");
    for (listening, line, key, status) in [
        (&public, "POST /nothing", "", 404),
        (&public, "POST /team", "", 405),
        (&public, "POST /auth", "", 401),
        (&public, "GET /guilds", "", 401),
        (&public, "GET /team", "", 413),
        (&management, "PUT /bot/guilds/7", "", 401),
        (&management, "POST /nothing", &*key, 404),
        (&management, "PUT /bot/guilds/7", &*key, 413),
        (&management, "POST /bot/sync?replace=nonsense", &*key, 422),
        (&management, "POST /bot/sync", &*key, 422),
    ] {
        assert_cut_off(listening, &format!("{line} HTTP/1.1\nHost: a\n{key}"), status).await;
    }
}

#[actix_web::test]
async fn discards_small_unused_bodies() {
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
}

#[actix_web::test]
async fn responds_without_a_body_that_never_arrives() {
    let service = Service::new().await;
    let listening = listen(&service);
    let mut client = Client::to(&listening).await;
    client.send("POST /nothing HTTP/1.1\nHost: a\nContent-Length: 5\n\n").await;
    let (answered, head, _) = client.answer().await;
    assert_eq!(answered, 404);
    assert!(head.contains("\r\nconnection: close\r\n"), "{head}");
}
