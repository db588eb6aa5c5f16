//! Clients that make us wait, at every stage, and clients that are too many.

use crate::{
    client::Client,
    eventually::eventually,
    listening::{limits, listen, listen_with},
    service::Service,
};
use companion_domain::model::{Name, Roster};
use companion_http::{Listening, ServerLimits};
use futures_util::future::join_all;
use socket2::SockRef;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

const REQUEST: &str = "GET /team HTTP/1.1\nHost: a\n\n";

/// Whatever happens, happens before that.
const LONG: Duration = Duration::from_secs(20);

fn impatient() -> ServerLimits {
    let short = Duration::from_millis(400);
    ServerLimits { request_head: short, patience: short, ..limits() }
}

/// Returns when the server has ended a connection, whatever it says before.
async fn is_over(mut stream: TcpStream) {
    let mut bytes = vec![0; 1 << 16];
    let reading = async { while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {} };
    timeout(LONG, reading).await.unwrap();
}

async fn connected(listening: &Listening) -> TcpStream {
    TcpStream::connect(listening.addr()).await.unwrap()
}

#[actix_web::test]
async fn a_first_head_that_is_not_finished_ends_the_connection() {
    let service = Service::new().await;
    let listening = listen_with(&service, impatient());
    let begun = ["", "G", "GET /team HTTP/1.1\r\nHost: a\r\n", "\r\n\r\n"];
    join_all(begun.map(async |begun| {
        let mut stream = connected(&listening).await;
        stream.write_all(begun.as_bytes()).await.unwrap();
        is_over(stream).await;
    }))
    .await;
    listening.stop().await.unwrap();
}

#[actix_web::test]
async fn a_later_head_that_is_not_finished_ends_the_connection() {
    let service = Service::new().await;
    let listening = listen_with(&service, impatient());
    join_all(["G", "\n\n", "GET /team HTTP/1.1\n"].map(async |rest| {
        // After the answer, and together with the request before it.
        let mut after = Client::to(&listening).await;
        after.send(REQUEST).await;
        assert_eq!(after.answer().await.0, 200);
        after.send(rest).await;
        let mut together = Client::to(&listening).await;
        together.send(&format!("{REQUEST}{rest}")).await;
        assert_eq!(together.answer().await.0, 200);
        join_all([after, together].map(|client| is_over(client.into_stream()))).await;
    }))
    .await;
    listening.stop().await.unwrap();
}

#[actix_web::test]
async fn a_connection_between_two_requests_is_kept() {
    let service = Service::new().await;
    let listening = listen_with(&service, impatient());
    let mut kept = Client::to(&listening).await;
    kept.send(REQUEST).await;
    assert_eq!(kept.answer().await.0, 200);
    // Someone who is cut off shows that more time has passed than anyone may make us wait.
    for _ in 0..2 {
        is_over(connected(&listening).await).await;
    }
    kept.send(REQUEST).await;
    assert_eq!(kept.answer().await.0, 200);
    listening.stop().await.unwrap();
}

#[actix_web::test]
async fn a_client_that_reads_none_of_its_answers_is_cut_off() {
    let service = Service::new().await;
    let listening = listen_with(&service, impatient());
    let mut stream = connected(&listening).await;
    let request = REQUEST.replace('\n', "\r\n").repeat(100);
    // Until neither side takes any more, and then until the other side gives up.
    let flood = async { while stream.write_all(request.as_bytes()).await.is_ok() {} };
    timeout(LONG, flood).await.unwrap();
    listening.stop().await.unwrap();
}

#[cfg(target_os = "linux")]
#[actix_web::test]
async fn a_client_that_leaves_its_last_answers_with_the_system_is_cut_off_too() {
    let service = Service::new().await;
    let listening = listen_with(&service, ServerLimits { connections_per_address: 1, ..impatient() });
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(1024).unwrap();
    let mut stalled = socket.connect(listening.addr()).await.unwrap();
    // More than it has room for, and less than the server waits for.
    let requests = REQUEST.replace('\n', "\r\n").repeat(64);
    stalled.write_all(requests.as_bytes()).await.unwrap();
    eventually(async || is_answered(&listening).await).await;
    listening.stop().await.unwrap();
}

/// Whether there is room for one more.
async fn is_answered(listening: &Listening) -> bool {
    let mut stream = connected(listening).await;
    let request = REQUEST.replace('\n', "\r\n");
    stream.write_all(request.as_bytes()).await.is_ok()
        && stream.read(&mut [0; 64]).await.is_ok_and(|read| read > 0)
}

#[actix_web::test]
async fn an_address_has_no_more_connections_than_its_share() {
    let service = Service::new().await;
    let limits = ServerLimits { connections_per_address: 2, ..limits() };
    let listening = listen_with(&service, limits);
    let (mut one, mut other) = (Client::to(&listening).await, Client::to(&listening).await);
    for client in [&mut one, &mut other] {
        client.send(REQUEST).await;
        assert_eq!(client.answer().await.0, 200);
    }
    is_over(connected(&listening).await).await;
    drop(one);
    eventually(async || is_answered(&listening).await).await;
    listening.stop().await.unwrap();
}

/// Connects from another address of this machine.
async fn connected_from(address: [u8; 4], listening: &Listening) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((address, 0).into()).unwrap();
    socket.connect(listening.addr()).await.unwrap()
}

#[actix_web::test]
async fn an_idle_connection_gives_its_place_to_a_new_one() {
    let service = Service::new().await;
    let listening =
        listen_with(&service, ServerLimits { connections: 3, connections_per_address: 3, ..limits() });
    let mut idle = Vec::new();
    for _ in 0..3 {
        let mut client = Client::to(&listening).await;
        client.send(REQUEST).await;
        assert_eq!(client.answer().await.0, 200);
        idle.push(client);
    }
    let mut other = connected_from([127, 0, 0, 2], &listening).await;
    other.write_all(REQUEST.replace('\n', "\r\n").as_bytes()).await.unwrap();
    assert!(other.read(&mut [0; 64]).await.unwrap() > 0);
    // One of them went, the others are kept.
    is_over(idle.remove(0).into_stream()).await;
    for client in &mut idle {
        client.send(REQUEST).await;
        assert_eq!(client.answer().await.0, 200);
    }
    listening.stop().await.unwrap();
}

#[actix_web::test]
async fn a_large_answer_is_read_whole_beside_clients_that_read_nothing() {
    let service = Service::new().await;
    // As long as an answer can be: each of these characters takes six bytes.
    let (name, path) = ("\u{1}".repeat(Name::LENGTH.end() - 4), "x".repeat(2000));
    let member = |number: usize| {
        serde_json::json!({
            "username": name, "name": name, "avatar": format!("https://cdn.example/{path}"), "role": name,
            "discord_id": (number + 1).to_string(), "color": "#00AA00", "category": name, "position": number
        })
    };
    let team: Vec<_> = (0..Roster::MAX).map(member).collect();
    let put = service.manage(crate::request::put("/bot/team", &serde_json::json!(team))).await;
    assert_eq!(put.status, 200, "{:?}", put.json());
    let listening = listen(&service);
    let request = REQUEST.replace('\n', "\r\n");
    let mut stalled = Vec::new();
    for _ in 0..300 {
        let mut stream = connected_from([127, 0, 0, 2], &listening).await;
        SockRef::from(&stream).set_recv_buffer_size(4096).unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.peek(&mut [0]).await.unwrap();
        stalled.push(stream);
    }
    for _ in 0..10 {
        let mut client = Client::to(&listening).await;
        client.send(REQUEST).await;
        let (status, _, json) = client.answer().await;
        assert_eq!((status, json["data"].as_array().map(Vec::len)), (200, Some(Roster::MAX)));
    }
    drop(stalled);
    listening.stop().await.unwrap();
}
