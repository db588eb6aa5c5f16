//! Changes fed to one node: all nodes show them, and event streams of every node report them.

use super::{Nodes, PROPAGATION, Silence, TIMEOUT, Times, ends, until_each};
use crate::stage::{MANAGEMENT_KEY, Node, guild, guild_of};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    ops::Range,
};

const USER: u64 = 1;

/// A kind of data that the bot feeds, and how it is shown.
struct Subject {
    what: &'static str,
    method: &'static str,
    path: String,
    told: fn(u32) -> Value,
    shown: fn(&Node, &str) -> Option<f64>,
}

/// Returns the number at a JSON pointer of a response, if there is one.
fn number(answer: &Value, place: &str) -> Option<f64> {
    answer.pointer(place).and_then(Value::as_f64)
}

fn settings() -> String {
    format!("/bot/guilds/{}/settings", guild_of(USER))
}

fn subjects() -> [Subject; 4] {
    [
        Subject {
            what: "guild fed, in /guilds of the other nodes",
            method: "PUT",
            path: format!("/bot/guilds/{}", guild_of(USER)),
            told: |number| guild(number.into()),
            shown: |node, token| number(&node.guilds(token).body, "/data/0/members"),
        },
        Subject {
            what: "team fed, in /team of the other nodes",
            method: "PUT",
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
            method: "PUT",
            path: "/bot/clusters/east/heartbeat".to_owned(),
            told: |number| json!({"memory": number, "started_at": 1_700_000_000, "shards": {}}),
            shown: |node, _| number(&node.get("/"), "/resources/memory"),
        },
        Subject {
            what: "settings changed, at the other nodes",
            method: "PATCH",
            path: settings(),
            told: |number| json!({"values": {"a.number": number}}),
            shown: |node, _| number(&node.manage("GET", &settings(), ""), "/values/a.number"),
        },
    ]
}

/// Returns how long the other nodes take to show a change that one node has acknowledged.
fn show(nodes: &Nodes, subject: &Subject, token: &str, numbers: Range<u32>) -> Times {
    let mut times = Times::default();
    for number in numbers {
        let (one, others) = nodes.split(number as usize);
        one.manage(subject.method, &subject.path, &(subject.told)(number).to_string());
        let shows = |node: &Node| (subject.shown)(node, token) == Some(number.into());
        assert!(shows(one), "the node itself shows it with the very next request");
        times.extend(until_each(&others, subject.what, shows));
    }
    times
}

#[test]
fn changes_and_ended_sessions_show_everywhere_within_a_second() {
    let nodes = Nodes::start();
    nodes.all[0].manage("PUT", &format!("/bot/guilds/{}", guild_of(USER)), &guild(1).to_string());
    let schema = json!({"sections": [{"key": "a", "title": "A", "permission": "MOD", "fields": [
        {"key": "number", "type": "integer", "title": "Number"},
    ]}]});
    nodes.all[0].manage("PUT", "/bot/settings", &schema.to_string());
    let token = nodes.all[0].sign_in(&nodes.stage, USER);
    let measure = |numbers: Range<u32>, condition: &str| {
        let fed = subjects().map(|subject| (subject.what, show(&nodes, &subject, &token, numbers.clone())));
        let ended = ("session ended, refused by the other nodes", ends(&nodes));
        for (what, times) in fed.into_iter().chain([ended]) {
            times.tell(&format!("{what}{condition}"));
            assert!(times.worst() < PROPAGATION, "{what}{condition}");
        }
    };
    measure(100..103, "");
    let silence = Silence::over(&nodes);
    measure(200..201, ", no announcement heard");
    drop(silence);
}

const CHANGES: usize = 30;

/// Subscribes to the changes of a node. Returns the id of each, and of its guild.
fn changes(node: &Node, since: Option<&str>) -> impl Iterator<Item = (String, String)> + use<> {
    let mut stream = TcpStream::connect(node.management()).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let query = since.map(|id| format!("?since={id}")).unwrap_or_default();
    let (name, key) = MANAGEMENT_KEY;
    write!(stream, "GET /bot/changes{query} HTTP/1.1\r\nHost: a\r\n{name}: {key}\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    // First it says where it is.
    let mut id = lines.find_map(|line| line.strip_prefix("id: ").map(str::to_owned)).unwrap();
    lines.filter_map(move |line| {
        if let Some(text) = line.strip_prefix("id: ") {
            text.clone_into(&mut id);
        }
        let data: Value = line.strip_prefix("data: ")?.parse().unwrap();
        Some((id.clone(), data["id"].as_str().unwrap().to_owned()))
    })
}

fn put(node: &Node, id: usize) {
    node.manage("PUT", &format!("/bot/guilds/{id}"), &guild(1).to_string());
}

#[test]
fn event_streams_miss_no_change_across_nodes_and_restarts() {
    let mut nodes = Nodes::start();
    let mut streams: Vec<_> = nodes.all.iter().map(|node| changes(node, None)).collect();
    (1..=CHANGES).for_each(|id| put(&nodes.all[0], id));
    let heard = streams.iter_mut().map(|stream| stream.take(CHANGES).collect());
    let heard: Vec<Vec<_>> = heard.collect();
    let guilds: Vec<usize> = heard[0].iter().map(|(_, guild)| guild.parse().unwrap()).collect();
    assert_eq!(guilds, (1..=CHANGES).collect::<Vec<_>>(), "in order, each once");
    assert!(heard.iter().all(|others| *others == heard[0]), "with the same ids everywhere: {heard:?}");

    // A node stops with a stream open, and its subscriber resumes on another node.
    nodes.all.remove(1).stop();
    assert_eq!(streams[1].next(), None);
    put(&nodes.all[0], CHANGES + 1);
    let (last, _) = heard[1].last().unwrap();
    let (_, guild) = changes(&nodes.all[1], Some(last)).next().unwrap();
    assert_eq!(guild, (CHANGES + 1).to_string());
}
