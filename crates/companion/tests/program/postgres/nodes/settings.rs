//! Settings over three nodes.

use super::{Nodes, PROPAGATION};
use crate::{
    http::{self, Kept},
    stage::{MANAGEMENT_KEY, Node, account, guild, until},
};
use serde_json::json;
use std::thread;

const SETTINGS: &str = "/bot/guilds/7/settings";

/// Starts nodes with a dashboard and a schema.
fn with_schema() -> Nodes {
    let dashboard = [
        ("COMPANION_DASHBOARD__LISTEN", "127.0.0.1:0"),
        ("COMPANION_DASHBOARD__URL", "https://site.example"),
    ];
    let nodes = Nodes::with(&dashboard);
    let schema = json!({"sections": [{"key": "a", "title": "A", "permission": "MOD", "fields": [
        {"key": "number", "type": "integer", "title": "Number"},
    ]}]});
    nodes.all[0].manage("PUT", "/bot/guilds/7", &guild(1).to_string());
    nodes.all[0].manage("PUT", "/bot/settings", &schema.to_string());
    nodes
}

#[test]
fn a_change_is_visible_on_every_node_within_a_second() {
    let mut nodes = with_schema();
    nodes.stage.platform().put_user(account(1, &[7]));
    let cookie = format!("__Host-companion={}", nodes.all[0].sign_in(&nodes.stage, 1));
    let site = |node: &mut Node| {
        let line = node.running.said("(listens on ");
        line.split_once("(listens on ").unwrap().1.trim_end_matches(')').to_owned()
    };
    let sites: Vec<_> = nodes.all.iter_mut().map(site).collect();
    for turn in 0..6_usize {
        let (writer, others) = nodes.split(turn);
        let revision = turn + 1;
        let body = json!({"values": {"a.number": turn + 100}}).to_string();
        assert_eq!(writer.manage("PATCH", SETTINGS, &body)["revision"], revision);
        for other in others {
            until("visible to the bot", PROPAGATION, || {
                let data = other.manage("GET", SETTINGS, "");
                data["revision"] == revision && data["values"]["a.number"] == turn + 100
            });
        }
        for site in &sites {
            until("visible in the form", PROPAGATION, || {
                let page = Kept::to(site).unwrap().get("/guilds/7", &[("Cookie", &cookie)]).unwrap();
                String::from_utf8(page.body).unwrap().contains(&format!("value=\"{}\"", turn + 100))
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
