//! What the bot tells one node, all of them show.

use super::{
    super::stage::{Node, guild, guild_of},
    Nodes, SOON,
    silence::Silence,
    times::Times,
    until_each,
};
use serde_json::{Value, json};
use std::ops::Range;

const USER: u64 = 1;

/// A kind of thing that the bot tells, and how it shows.
struct Subject {
    what: &'static str,
    path: String,
    told: fn(u32) -> Value,
    shown: fn(&Node, &str) -> Option<f64>,
}

/// The number at a place in an answer, once there is one.
fn number(answer: &Value, place: &str) -> Option<f64> {
    answer.pointer(place).and_then(Value::as_f64)
}

fn subjects() -> [Subject; 3] {
    [
        Subject {
            what: "guild fed, in /guilds of the other nodes",
            path: format!("/bot/guilds/{}", guild_of(USER)),
            told: |number| guild(number.into()),
            shown: |node, token| number(&node.guilds(token).body, "/data/0/members"),
        },
        Subject {
            what: "team fed, in /team of the other nodes",
            path: "/bot/team".to_owned(),
            told: |number| {
                json!([{
                    "username": "u", "name": "U", "avatar": "https://cdn.example/a.png", "discord_id": "8",
                    "role": "Lead", "color": "#1ABC9C", "category": "Board", "position": number,
                }])
            },
            shown: |node, _| number(&node.get("/team"), "/0/position"),
        },
        Subject {
            what: "heartbeat fed, in / of the other nodes",
            path: "/bot/clusters/east/heartbeat".to_owned(),
            told: |number| json!({"memory": number, "started_at": 1_700_000_000, "shards": {}}),
            shown: |node, _| number(&node.get("/"), "/resources/memory"),
        },
    ]
}

/// How long after one node has answered the others show what it was told.
fn show(nodes: &Nodes, subject: &Subject, token: &str, numbers: Range<u32>) -> Times {
    let mut times = Times::default();
    for number in numbers {
        let (one, others) = nodes.split(number as usize);
        one.manage("PUT", &subject.path, &(subject.told)(number).to_string());
        let shows = |node: &Node| (subject.shown)(node, token) == Some(number.into());
        assert!(shows(one), "the node itself shows it with the very next request");
        times.extend(until_each(&others, subject.what, shows));
    }
    times
}

#[test]
fn what_one_node_is_told_shows_on_all_within_a_second() {
    let nodes = Nodes::start();
    nodes.all[0].manage("PUT", &format!("/bot/guilds/{}", guild_of(USER)), &guild(1).to_string());
    let token = nodes.all[0].sign_in(&nodes.stage, USER);
    for subject in subjects() {
        let times = show(&nodes, &subject, &token, 100..104);
        times.tell(subject.what);
        assert!(times.worst() < SOON);
    }
    let silence = Silence::over(&nodes);
    let mut silent = Times::default();
    for subject in subjects() {
        let times = show(&nodes, &subject, &token, 200..202);
        times.tell(&format!("{}, no announcement heard", subject.what));
        silent.extend([times.worst()]);
    }
    drop(silence);
    assert!(silent.worst() < SOON);
}
