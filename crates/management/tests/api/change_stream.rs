//! `GET /bot/changes` over a real connection.

use crate::{
    client::{Client, listen_management},
    delete, put,
    sample::{feedback, guild, heartbeat},
    service::{FEED_KEY, KEY, METRICS_KEY, Service, post_code},
};
use actix_web::test::TestRequest;
use companion_http::RunningServer;
use companion_testkit::world::a_user;
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines},
    net::TcpStream,
    time::timeout,
};

/// Upper bound of every wait in these tests.
const LONG: Duration = Duration::from_secs(20);

/// A client of the stream.
struct Listener {
    lines: Lines<BufReader<TcpStream>>,
}

/// An event of the stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Block {
    id: String,
    event: String,
    data: String,
}

impl Block {
    fn data(&self) -> Value {
        serde_json::from_str(&self.data).unwrap()
    }

    fn revision(&self) -> u64 {
        self.id.parse().unwrap()
    }
}

impl Listener {
    async fn to(listening: &RunningServer, query: &str, headers: &str) -> Self {
        Self::with_key(KEY, listening, query, headers).await
    }

    async fn with_key(key: &str, listening: &RunningServer, query: &str, headers: &str) -> Self {
        let mut client = Client::to(listening).await;
        let head =
            format!("GET /bot/changes{query} HTTP/1.1\nHost: a\nAuthorization: Bearer {key}\n{headers}\n");
        client.send(&head).await;
        let head = client.head().await;
        assert!(
            head.contains("http/1.1 200 ok") && head.contains("content-type: text/event-stream"),
            "{head}"
        );
        Self { lines: BufReader::new(client.into_stream()).lines() }
    }

    /// Reads the next event. Returns `None` at the end.
    async fn block(&mut self) -> Option<Block> {
        timeout(LONG, self.read_block()).await.unwrap()
    }

    async fn read_block(&mut self) -> Option<Block> {
        let mut block = Block::default();
        loop {
            let line = self.lines.next_line().await.unwrap()?;
            match line.split_once(": ") {
                Some(("id", id)) => id.clone_into(&mut block.id),
                Some(("event", event)) => event.clone_into(&mut block.event),
                Some(("data", data)) => data.clone_into(&mut block.data),
                // Chunk sizes and comments.
                Some(_) | None if !line.is_empty() => {
                    if line == "0" {
                        return None;
                    }
                }
                Some(_) | None if block == Block::default() => {}
                Some(_) | None => return Some(block),
            }
        }
    }

    async fn event(&mut self) -> (String, Value) {
        let block = self.block().await.unwrap();
        (block.event.clone(), block.data())
    }
}

/// Whether an event contains only a position.
fn is_position(block: &Block) -> bool {
    !block.id.is_empty() && block.event.is_empty() && block.data.is_empty()
}

#[actix_web::test]
async fn streams_each_change_once_in_order() {
    let service = Service::new().await;
    let management = listen_management(&service);
    let mut listener = Listener::to(&management, "", "").await;
    let beginning = listener.block().await.unwrap();
    assert!(is_position(&beginning), "{beginning:?}");
    service.manage(put("/bot/guilds/7", &guild())).await;
    service.manage(put("/bot/guilds/7/members/1", &json!({"roles": ["71"]}))).await;
    service.manage(put("/bot/plus/9", &json!({"guilds": ["7"], "slots": 1}))).await;
    service.manage(put("/bot/staff/8", &json!({"permissions": ["BOT_DEVELOPER"]}))).await;
    service.manage(put("/bot/blocked/5", &json!({}))).await;
    service.manage(put("/bot/feedback/f", &feedback())).await;
    service.manage(put("/bot/team", &json!([]))).await;
    service.manage(put("/bot/clusters/one/heartbeat", &heartbeat("0", 1.7e9, 1e8))).await;
    service.manage(delete("/bot/guilds/7")).await;
    let expected = [
        ("guild", json!({"id": "7"})),
        ("member", json!({"guild": "7", "user": "1"})),
        ("plus", json!({"id": "9"})),
        ("staff", json!({"id": "8"})),
        ("blocked", json!({"id": "5"})),
        ("feedback", json!({"id": "f"})),
        ("cluster", json!({"id": "one"})),
    ];
    let mut last = beginning.revision();
    for (event, data) in expected {
        let block = listener.block().await.unwrap();
        assert_eq!((block.event.as_str(), block.data()), (event, data));
        assert!(block.revision() > last, "{block:?} after {last}");
        last = block.revision();
    }
}

#[actix_web::test]
async fn resumes_from_the_last_event_id() {
    let service = Service::new().await;
    let management = listen_management(&service);
    service.manage(put("/bot/guilds/7", &guild())).await;
    let mut listener = Listener::to(&management, "", "").await;
    let position = listener.block().await.unwrap().id;
    drop(listener);
    service.manage(put("/bot/guilds/8", &guild())).await;
    service.manage(put("/bot/guilds/9", &guild())).await;
    let asked = [
        (String::new(), format!("Last-Event-ID: {position}\n")),
        (format!("?since={position}"), String::new()),
        ("?since=0".to_owned(), format!("Last-Event-ID: {position}\n")),
    ];
    for (query, headers) in asked {
        let mut again = Listener::to(&management, &query, &headers).await;
        for guild in ["8", "9"] {
            assert_eq!(again.event().await, ("guild".to_owned(), json!({"id": guild})));
        }
    }
}

#[actix_web::test]
async fn sends_reset_if_the_history_is_too_short() {
    let service = Service::new().await;
    let management = listen_management(&service);
    service.manage(put("/bot/guilds/7", &guild())).await;
    let mut listener = Listener::to(&management, "?since=99999999", "").await;
    let reset = listener.block().await.unwrap();
    assert_eq!((reset.event.as_str(), reset.data()), ("reset", json!({})));
    assert!(reset.revision() < 99_999_999);
    service.manage(delete("/bot/guilds/7")).await;
    assert_eq!(listener.event().await, ("guild".to_owned(), json!({"id": "7"})));
}

#[actix_web::test]
async fn filters_by_kind_and_still_advances() {
    let service = Service::new().await;
    let management = listen_management(&service);
    let mut listener = Listener::to(&management, "?kinds=feedback,team", "").await;
    let beginning = listener.block().await.unwrap();
    service.manage(put("/bot/guilds/7", &guild())).await;
    let moved = listener.block().await.unwrap();
    assert!(is_position(&moved) && moved.revision() > beginning.revision(), "{moved:?}");
    service.manage(put("/bot/feedback/f", &feedback())).await;
    assert_eq!(listener.event().await, ("feedback".to_owned(), json!({"id": "f"})));
}

#[actix_web::test]
async fn personal_kinds_need_the_people_scope() {
    let service = Service::new().await;
    let management = listen_management(&service);
    let mut operator = Listener::to(&management, "", "").await;
    let mut bot = Listener::with_key(FEED_KEY, &management, "", "").await;
    for listener in [&mut operator, &mut bot] {
        assert!(is_position(&listener.block().await.unwrap()));
    }
    service.call(post_code(&service.code_of(a_user(1), vec![]))).await;
    service.manage(put("/bot/guilds/7", &guild())).await;
    for (listener, expected) in [(&mut operator, &["grant", "guild", "session"][..]), (&mut bot, &["guild"])]
    {
        let mut received = BTreeSet::new();
        while !received.contains("guild") {
            received.insert(listener.block().await.unwrap().event);
        }
        received.remove("");
        assert_eq!(received.iter().map(String::as_str).collect::<Vec<_>>(), expected, "besides positions");
    }
}

#[actix_web::test]
async fn requesting_personal_kinds_needs_the_people_scope() {
    let service = Service::new().await;
    let asked = |kinds: &str, key: &str| {
        let request = TestRequest::default().method("HEAD".parse().unwrap());
        let request = request.uri(&format!("/bot/changes?kinds={kinds}"));
        service.call_management(request.insert_header(("Authorization", format!("Bearer {key}"))))
    };
    for (kinds, key, status) in [
        ("session", FEED_KEY, 403),
        ("guild,grant", FEED_KEY, 403),
        ("guild,member,blocked", FEED_KEY, 200),
        ("session,grant", KEY, 200),
        ("guild", METRICS_KEY, 403),
    ] {
        assert_eq!(asked(kinds, key).await.status, status, "{kinds} with {key}");
    }
}

#[actix_web::test]
async fn rejects_invalid_kinds_and_positions() {
    let service = Service::new().await;
    let asked = |query: &str| TestRequest::get().uri(&format!("/bot/changes{query}"));
    for (query, field) in [("?kinds=guilds", "kinds"), ("?since=-1", "since"), ("?until=1", "until")] {
        service.manage(asked(query)).await.assert_invalid(&[field]);
    }
    let answer = service.manage(asked("").insert_header(("Last-Event-ID", "first"))).await;
    answer.assert_invalid(&["Last-Event-ID"]);
}

#[actix_web::test]
async fn stop_ends_streams_after_a_complete_event() {
    let service = Service::new().await;
    let management = listen_management(&service);
    let mut listeners = Vec::new();
    for _ in 0..50 {
        let mut listener = Listener::to(&management, "", "").await;
        listener.block().await.unwrap();
        listeners.push(listener);
    }
    service.manage(put("/bot/guilds/7", &guild())).await;
    let stopping = tokio::spawn(async move { management.stop().await });
    for mut listener in listeners {
        assert_eq!(listener.event().await.0, "guild");
        assert_eq!(listener.block().await, None, "the chunked body is complete");
        let mut rest = String::new();
        listener.lines.into_inner().read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest.trim(), "");
    }
    stopping.await.unwrap().unwrap();
}
