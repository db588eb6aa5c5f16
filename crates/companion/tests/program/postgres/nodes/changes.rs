//! Whoever listens hears of every change, on any node, and goes on over restarts.

use super::{Nodes, times::Times};
use crate::stage::{Node, guild};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

const KEY: &str = "the-management-key";
const CHANGES: u64 = 100;
/// Whatever happens, happens before that.
const LONG: Duration = Duration::from_secs(20);

/// An event, and when it came.
#[derive(Debug, Clone)]
struct Event {
    id: u64,
    name: String,
    data: Value,
    at: Instant,
}

/// Someone who listens until the stream ends.
struct Listener {
    events: mpsc::Receiver<Event>,
}

impl Listener {
    fn to(node: &Node, since: Option<u64>) -> Self {
        let mut stream = TcpStream::connect(node.management()).unwrap();
        let query = since.map(|id| format!("?since={id}")).unwrap_or_default();
        write!(stream, "GET /bot/changes{query} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {KEY}\r\n\r\n")
            .unwrap();
        let (sender, events) = mpsc::channel();
        thread::spawn(move || {
            let (mut id, mut name) = (None, String::new());
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                match line.split_once(": ") {
                    Some(("id", text)) => (id, name) = (text.parse().ok(), String::new()),
                    Some(("event", text)) => text.clone_into(&mut name),
                    Some(("data", text)) => {
                        let (id, name) = (id.take().unwrap(), name.clone());
                        let event = Event { id, name, data: text.parse().unwrap(), at: Instant::now() };
                        if sender.send(event).is_err() {
                            return;
                        }
                    }
                    // A block of an id alone.
                    None if line.is_empty() => {
                        let alone =
                            |id| Event { id, name: String::new(), data: Value::Null, at: Instant::now() };
                        if id.take().is_some_and(|id| sender.send(alone(id)).is_err()) {
                            return;
                        }
                    }
                    Some(_) | None => {}
                }
            }
        });
        Self { events }
    }

    fn next(&self) -> Event {
        self.events.recv_timeout(LONG).unwrap()
    }

    /// The next changes of guilds, by their ids.
    fn guilds(&self, count: u64) -> Vec<(u64, Event)> {
        let event = |_| {
            let event = self.next();
            assert_eq!(event.name, "guild", "{event:?}");
            (event.data["id"].as_str().unwrap().parse().unwrap(), event)
        };
        (0..count).map(event).collect()
    }

    /// Returns when the stream is over.
    fn ended(&self) {
        assert_eq!(self.events.recv_timeout(LONG).unwrap_err(), mpsc::RecvTimeoutError::Disconnected);
    }
}

fn put(node: &Node, id: u64) {
    node.manage("PUT", &format!("/bot/guilds/{id}"), &guild(id).to_string());
}

#[test]
fn every_change_is_heard_on_every_node_and_goes_on_over_restarts() {
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
        Times::of(times).tell(&format!("from a change to its event on {which}"));
        ids.push(heard.iter().map(|(_, event)| event.id).collect::<Vec<_>>());
    }
    assert!(ids.iter().all(|others| *others == ids[0]), "ids are the same everywhere");

    // A node ends with a stream open, and whoever listened there goes on elsewhere.
    let last = *ids[1].last().unwrap();
    nodes.all.remove(1).stop();
    listeners[1].ended();
    put(&nodes.all[0], CHANGES + 1);
    let again = Listener::to(&nodes.all[1], Some(last));
    assert_eq!(again.guilds(1)[0].0, CHANGES + 1);
    // Far back and far ahead.
    let since_ever = Listener::to(&nodes.all[0], Some(ids[0][0]));
    assert_eq!(since_ever.guilds(CHANGES)[0].0, 2);
    let unknown = Listener::to(&nodes.all[0], Some(1 << 62)).next();
    assert_eq!((unknown.name.as_str(), unknown.data), ("reset", json!({})));
}
