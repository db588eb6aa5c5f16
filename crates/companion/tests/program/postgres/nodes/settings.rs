//! Settings over three nodes.

use super::{Nodes, PROPAGATION};
use crate::{
    http,
    stage::{MANAGEMENT_KEY, guild, until},
};
use serde_json::json;
use std::thread;

const SETTINGS: &str = "/bot/guilds/7/settings";

fn with_schema() -> Nodes {
    let nodes = Nodes::start();
    let schema = json!({"sections": [{"key": "a", "title": "A", "permission": "MOD", "fields": [
        {"key": "number", "type": "integer", "title": "Number"},
    ]}]});
    nodes.all[0].manage("PUT", "/bot/guilds/7", &guild(1).to_string());
    nodes.all[0].manage("PUT", "/bot/settings", &schema.to_string());
    nodes
}

#[test]
fn a_change_is_visible_on_every_node_within_a_second() {
    let nodes = with_schema();
    for turn in 0..6_usize {
        let (writer, others) = nodes.split(turn);
        let revision = turn + 1;
        let body = json!({"values": {"a.number": turn}}).to_string();
        assert_eq!(writer.manage("PATCH", SETTINGS, &body)["revision"], revision);
        for other in others {
            until("visible", PROPAGATION, || {
                let data = other.manage("GET", SETTINGS, "");
                data["revision"] == revision && data["values"]["a.number"] == turn
            });
        }
    }
}

#[test]
fn one_of_the_changes_of_a_revision_wins() {
    let nodes = with_schema();
    for revision in 0..10 {
        let expected = format!("\"{revision}\"");
        let change = &|number: usize| {
            let node = &nodes.all[number];
            let body = json!({"values": {"a.number": 100 * revision + number}}).to_string();
            let headers = [MANAGEMENT_KEY, ("If-Match", &*expected)];
            http::send(node.management(), "PATCH", SETTINGS, &headers, &body).unwrap().status
        };
        let mut statuses: Vec<_> = thread::scope(|scope| {
            let running: Vec<_> = (0..3).map(|number| scope.spawn(move || change(number))).collect();
            running.into_iter().map(|change| change.join().unwrap()).collect()
        });
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 412, 412]);
        assert_eq!(nodes.all[0].manage("GET", SETTINGS, "")["revision"], revision + 1);
    }
}
