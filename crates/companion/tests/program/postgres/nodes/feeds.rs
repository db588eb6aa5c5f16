//! Changes fed to one node: all nodes show them, and event streams of every node report them.

use super::{Nodes, PROPAGATION, Silence, TIMEOUT, Times, until_each};
use crate::stage::{Node, guild, guild_of};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    ops::Range,
    sync::mpsc,
    thread,
    time::Instant,
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
fn a_fed_change_shows_on_all_nodes_within_a_second() {
    let nodes = Nodes::start();
    nodes.all[0].manage("PUT", &format!("/bot/guilds/{}", guild_of(USER)), &guild(1).to_string());
    let schema = json!({"sections": [{"key": "a", "title": "A", "permission": "MOD", "fields": [
        {"key": "number", "type": "integer", "title": "Number"},
    ]}]});
    nodes.all[0].manage("PUT", "/bot/settings", &schema.to_string());
    let token = nodes.all[0].sign_in(&nodes.stage, USER);
    for subject in subjects() {
        let times = show(&nodes, &subject, &token, 100..103);
        times.tell(subject.what);
        assert!(times.worst() < PROPAGATION);
    }
    let silence = Silence::over(&nodes);
    let mut silent = Times::default();
    for subject in subjects() {
        let times = show(&nodes, &subject, &token, 200..201);
        times.tell(&format!("{}, no announcement heard", subject.what));
        silent.extend([times.worst()]);
    }
    drop(silence);
    assert!(silent.worst() < PROPAGATION);
}

const KEY: &str = "the-management-key";
const CHANGES: u64 = 30;

/// An event, and its arrival time.
#[derive(Debug, Clone)]
struct Event {
    id: u64,
    name: String,
    data: Value,
    at: Instant,
}

/// A subscriber of the event stream.
struct Listener(mpsc::Receiver<Event>);

impl Listener {
    fn to(node: &Node, since: Option<u64>) -> Self {
        let mut stream = TcpStream::connect(node.management()).unwrap();
        let query = since.map(|id| format!("?since={id}")).unwrap_or_default();
        write!(stream, "GET /bot/changes{query} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {KEY}\r\n\r\n")
            .unwrap();
        let (sender, events) = mpsc::channel();
        thread::spawn(move || {
            let event = |id, name, data| Event { id, name, data, at: Instant::now() };
            let (mut id, mut name) = (None, String::new());
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                match line.split_once(": ") {
                    Some(("id", text)) => (id, name) = (text.parse().ok(), String::new()),
                    Some(("event", text)) => text.clone_into(&mut name),
                    Some(("data", text)) => {
                        let event = event(id.take().unwrap(), name.clone(), text.parse().unwrap());
                        if sender.send(event).is_err() {
                            return;
                        }
                    }
                    // A block with only an id.
                    None if line.is_empty() => {
                        let alone = id.take().map(|id| event(id, String::new(), Value::Null));
                        if alone.is_some_and(|alone| sender.send(alone).is_err()) {
                            return;
                        }
                    }
                    Some(_) | None => {}
                }
            }
        });
        Self(events)
    }

    fn next(&self) -> Event {
        self.0.recv_timeout(TIMEOUT).unwrap()
    }

    /// Returns the next guild changes, with their guild ids.
    fn guilds(&self, count: u64) -> Vec<(u64, Event)> {
        let event = |_| {
            let event = self.next();
            assert_eq!(event.name, "guild", "{event:?}");
            (event.data["id"].as_str().unwrap().parse().unwrap(), event)
        };
        (0..count).map(event).collect()
    }

    /// Waits for the end of the stream.
    fn ended(&self) {
        assert_eq!(self.0.recv_timeout(TIMEOUT).unwrap_err(), mpsc::RecvTimeoutError::Disconnected);
    }
}

fn put(node: &Node, id: u64) {
    node.manage("PUT", &format!("/bot/guilds/{id}"), &guild(id).to_string());
}

#[test]
fn event_streams_miss_no_change_across_nodes_and_restarts() {
    let mut nodes = Nodes::start();
    let listeners: Vec<_> = nodes.all.iter().map(|node| Listener::to(node, None)).collect();
    for listener in &listeners {
        assert_eq!(listener.next().name, "", "first it says where it is");
    }
    let acknowledged: BTreeMap<u64, Instant> = (1..=CHANGES)
        .map(|id| {
            let begun = Instant::now();
            put(&nodes.all[0], id);
            (id, begun)
        })
        .collect();
    let mut ids = Vec::new();
    for (node, listener) in listeners.iter().enumerate() {
        let heard = listener.guilds(CHANGES);
        let guilds: Vec<_> = heard.iter().map(|(guild, _)| *guild).collect();
        assert_eq!(guilds, (1..=CHANGES).collect::<Vec<_>>(), "in order, each once");
        let times = heard.iter().map(|(guild, event)| event.at.duration_since(acknowledged[guild])).collect();
        let which = if node == 0 { "the same node" } else { "another node" };
        Times(times).tell(&format!("from a change to its event on {which}"));
        ids.push(heard.iter().map(|(_, event)| event.id).collect::<Vec<_>>());
    }
    assert!(ids.iter().all(|others| *others == ids[0]), "ids are the same everywhere");

    // A node stops with a stream open, and its subscriber resumes on another node.
    let last = *ids[1].last().unwrap();
    nodes.all.remove(1).stop();
    listeners[1].ended();
    put(&nodes.all[0], CHANGES + 1);
    let again = Listener::to(&nodes.all[1], Some(last));
    assert_eq!(again.guilds(1)[0].0, CHANGES + 1);
}
