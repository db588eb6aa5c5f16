//! `POST /bot/sync` over a real connection.

use super::sample::{guild, line, world};
use crate::{
    client::Client,
    eventually::eventually,
    listening::{listen, listen_management},
    service::{KEY, Service},
};
use companion_domain::{change::Key, port::Records as _};
use companion_http::Listening;
use companion_testkit::world::guild_id;
use serde_json::{Value, json};

fn head(framing: &str) -> String {
    format!("POST /bot/sync?replace=all HTTP/1.1\nHost: a\nAuthorization: Bearer {KEY}\n{framing}\n\n")
}

fn chunk(text: &str) -> String {
    // The client turns each newline into two bytes, which here counts.
    format!("{:x}\n{text}\n", text.len() + text.matches('\n').count())
}

async fn get(listening: &Listening, path: &str) -> Value {
    let mut client = Client::to(listening).await;
    client.send(&format!("GET {path} HTTP/1.1\nHost: a\n\n")).await;
    let (status, _, json) = client.answer().await;
    assert_eq!(status, 200);
    json
}

#[actix_web::test]
async fn a_stream_in_odd_pieces_is_taken_while_the_public_api_answers() {
    let service = Service::new().await;
    let (public, management) = (listen(&service), listen_management(&service));
    let text: String = world().iter().map(|line| format!("{line}\n")).collect();
    let mut client = Client::to(&management).await;
    client.send(&head("Transfer-Encoding: chunked")).await;
    for (place, piece) in text.as_bytes().chunks(97).enumerate() {
        client.send(&chunk(std::str::from_utf8(piece).unwrap())).await;
        if place % 5 == 0 {
            assert_eq!(
                get(&public, "/team").await["data"],
                json!([]),
                "nothing shows before the whole is there"
            );
        }
    }
    client.send("0\n\n").await;
    let (status, _, json) = client.answer().await;
    assert_eq!((status, &json["data"]), (200, &json!({"added": 7, "changed": 0, "removed": 0})));
    assert_eq!(get(&public, "/team").await["data"].as_array().map(Vec::len), Some(1));
    management.stop().await.unwrap();
    public.stop().await.unwrap();
}

#[actix_web::test]
async fn a_client_that_stops_halfway_changes_nothing() {
    let service = Service::new().await;
    let management = listen_management(&service);
    let known = line("guild", &json!({"id": "7"}), guild());
    assert_eq!(service.manage(super::sync("", std::slice::from_ref(&known))).await.counts(), [1, 0, 0]);
    let new = line("guild", &json!({"id": "8"}), guild()).to_string();
    for framing in ["Transfer-Encoding: chunked", "Content-Length: 100000"] {
        let mut client = Client::to(&management).await;
        client.send(&head(framing)).await;
        if framing.starts_with("Transfer") {
            client.send(&chunk(&format!("{new}\n"))).await;
        } else {
            client.send(&format!("{new}\n")).await;
        }
        drop(client);
    }
    // Stopping waits for what was begun.
    management.stop().await.unwrap();
    let mut looks = 0;
    eventually(async || {
        looks += 1;
        assert!(
            service.memory.storage.find(&Key::Guild(guild_id(7))).await.unwrap().is_some(),
            "still there"
        );
        assert!(service.memory.storage.find(&Key::Guild(guild_id(8))).await.unwrap().is_none(), "never came");
        looks > 100
    })
    .await;
}

#[actix_web::test]
async fn a_mistake_is_told_while_the_rest_of_the_stream_still_comes() {
    let service = Service::new().await;
    let management = listen_management(&service);
    let mut client = Client::to(&management).await;
    client.send(&head("Transfer-Encoding: chunked")).await;
    client.send(&chunk("nonsense\n")).await;
    let (status, _, json) = client.answer().await;
    assert_eq!((status, &json["data"]["fields"][0]["path"]), (422, &json!("line 1")));
    management.stop().await.unwrap();
}
