//! `POST /bot/sync`, in process and over a real connection.

use crate::{
    client::{Client, listen_management},
    delete, put,
    sample::{guild, line, team_member, world},
    service::{KEY, Service},
    sync,
};
use actix_web::{test::TestRequest, web::Bytes};
use companion_domain::{change::Key, port::Records as _};
use companion_testkit::world::{a_membership, guild_id};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use std::time::Duration;

fn guild_line(id: u64) -> Value {
    line("guild", &json!({"id": id.to_string()}), guild())
}

fn member_line(guild: u64, user: u64) -> Value {
    line("member", &json!({"guild": guild.to_string(), "user": user.to_string()}), json!({"roles": ["71"]}))
}

#[actix_web::test]
async fn applies_a_world_in_any_order_as_one_change() {
    let service = Service::new().await;
    let token = service.signed_in(vec![a_membership(7)]).await;
    assert_eq!(service.manage(sync("", &world())).await.counts(), [8, 0, 0]);
    assert_eq!(service.manage(sync("?replace=all", &world())).await.counts(), [0, 0, 0]);
    assert_eq!(service.manage(sync("?replace=guilds&shard=1&shards=2", &[])).await.counts(), [0, 0, 0]);
    assert_eq!(service.get("/team").await.data(), json!([team_member("5", "Support")]));
    assert_eq!(service.get("/feedback").await.data().as_array().map(Vec::len), Some(1));
    assert_eq!(service.guilds(&token).await.data(), json!([]));
    assert_eq!(service.manage(sync("", &[member_line(7, 1)])).await.counts(), [1, 0, 0]);
    assert_eq!(service.guilds(&token).await.data()[0]["role"], "Moderator", "visible when acknowledged");
}

#[actix_web::test]
async fn reports_the_invalid_line_and_changes_nothing() {
    let service = Service::new().await;
    service.manage(put("/bot/guilds/7", &guild())).await;
    let bad = line("member", &json!({"guild": "7"}), json!({"roles": [1], "rolls": []}));
    let refused = service.manage(sync("?replace=all", &[guild_line(8), bad, guild_line(9)])).await;
    refused.assert_invalid(&["line 2: user", "line 2: roles[0]", "line 2: rolls"]);
    for (text, place) in [
        ("nonsense", "line 1"),
        ("\n\n[]", "line 3"),
        ("{\"kind\": \"guilds\"}", "line 1: kind"),
        ("{\"kind\": \"session\", \"id\": \"x\"}", "line 1: kind"),
        ("{\"kind\": \"blocked\", \"user\": \"1\"} {}", "line 1"),
    ] {
        let request = TestRequest::post().uri("/bot/sync?replace=all").set_payload(text);
        service.manage(request).await.assert_invalid(&[place]);
    }
    assert_eq!(service.manage(put("/bot/guilds/7", &guild())).await.counts(), [0, 0, 0], "still there");
}

#[actix_web::test]
async fn reports_members_of_unknown_guilds_by_line() {
    let service = Service::new().await;
    let answer = service.manage(sync("", &[guild_line(7), member_line(7, 1), member_line(8, 1)])).await;
    answer.assert_invalid(&["line 3: guild"]);
    assert!(answer.json().to_string().contains("names guild 8"));
    assert_eq!(service.manage(sync("", &[guild_line(7)])).await.counts(), [1, 0, 0], "nothing was done");
}

#[actix_web::test]
async fn an_idle_stream_times_out_without_effect() {
    let service = Service::new().await;
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    let piece = Bytes::from_static(b"{\"kind\":\"blocked\",\"user\":\"99\"}\n");
    let stalled = stream::iter([Ok(piece)]).chain(stream::pending());
    let answer = service.manage_stream(TestRequest::post().uri("/bot/sync"), stalled).await;
    answer.assert_error(408, "body_timeout");
    // 30 seconds for the stream, and one second to discard the rest of the body.
    assert_eq!(begun.elapsed().as_secs(), 31);
    assert_eq!(service.manage(delete("/bot/blocked/99")).await.counts(), [0, 0, 0]);
}

#[actix_web::test]
async fn a_slow_stream_is_not_timed_out() {
    let service = Service::new().await;
    tokio::time::pause();
    let pieces = "{\"kind\":\"blocked\",\"user\":\"99\"}\n".as_bytes().chunks(3);
    let slowly = stream::iter(pieces).then(async |piece| {
        tokio::time::sleep(Duration::from_secs(29)).await;
        Ok(Bytes::from_static(piece))
    });
    let answer = service.manage_stream(TestRequest::post().uri("/bot/sync"), slowly).await;
    assert_eq!(answer.counts(), [1, 0, 0]);
}

#[actix_web::test]
async fn rejects_a_sync_before_its_end() {
    let service = Service::new().await;
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    let text: String = team_lines(1..=251).iter().map(|line| format!("{line}\n")).collect();
    let stalled = stream::iter([Ok(Bytes::from(text))]).chain(stream::pending());
    let answer = service.manage_stream(TestRequest::post().uri("/bot/sync"), stalled).await;
    answer.assert_invalid(&["line 251"]);
    assert_eq!(begun.elapsed().as_secs(), 0);
}

fn team_lines(users: std::ops::RangeInclusive<u64>) -> Vec<Value> {
    users.map(|user| line("team", &json!({}), team_member(&user.to_string(), "A"))).collect()
}

fn head(framing: &str) -> String {
    format!("POST /bot/sync?replace=all HTTP/1.1\nHost: a\nAuthorization: Bearer {KEY}\n{framing}\n\n")
}

fn chunk(text: &str) -> String {
    // The client sends each newline as CRLF, which counts.
    format!("{:x}\n{text}\n", text.len() + text.matches('\n').count())
}

#[actix_web::test]
async fn an_aborted_stream_changes_nothing() {
    let service = Service::new().await;
    let management = listen_management(&service);
    assert_eq!(service.manage(sync("", &[guild_line(7)])).await.counts(), [1, 0, 0]);
    let new = format!("{}\n", guild_line(8));
    for (framing, sent) in
        [("Transfer-Encoding: chunked", chunk(&new)), ("Content-Length: 100000", new.clone())]
    {
        let mut client = Client::to(&management).await;
        client.send(&head(framing)).await;
        client.send(&sent).await;
    }
    // Stopping waits for requests in flight.
    management.stop().await.unwrap();
    for (guild, is_stored) in [(7, true), (8, false)] {
        let found = service.memory.storage.find(&Key::Guild(guild_id(guild))).await.unwrap();
        assert_eq!(found.is_some(), is_stored, "guild {guild}");
    }
}
