//! While one node merges a sync, for however long, the others and it go on.

use super::{
    super::{
        psql::{Holding, psql},
        stage::{Node, guild, until},
    },
    Nodes,
    times::Times,
};
use serde_json::json;
use std::{
    thread,
    time::{Duration, Instant},
};

/// What has to wait is refused after two seconds, and told so on a machine that has much else to do.
const REFUSED: Duration = Duration::from_secs(4);

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let done = work();
    (done, begun.elapsed())
}

#[test]
fn while_one_node_merges_all_are_ready_sign_in_and_take_heartbeats_and_refuse_the_rest_in_time() {
    let nodes = Nodes::start();
    // The merge has begun to write, and gets no further.
    let holding = Holding::take(&nodes.url(), "LOCK TABLE guilds IN EXCLUSIVE MODE");
    let lines: String = (1..=2000)
        .map(|id| {
            let mut line = guild(1);
            line["kind"] = json!("guild");
            line["id"] = json!(id.to_string());
            format!("{line}\n")
        })
        .collect();
    let (mut ready, mut sign_ins, mut heartbeats, mut refusals) =
        (Times::default(), Times::default(), Times::default(), Times::default());
    thread::scope(|scope| {
        let merging = scope.spawn(|| nodes.all[0].manage("POST", "/bot/sync", &lines));
        let held_up = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
            AND query LIKE 'INSERT INTO guilds%' AND state = 'active'";
        until("merging", Duration::from_secs(20), || psql(&nodes.url(), held_up) == "1");
        for (user, node) in (1..).zip(nodes.all.iter().chain(&nodes.all)) {
            let (is_ready, took) = timed(|| node.is_ready());
            assert!(is_ready, "busy is not unready");
            ready.extend([took]);
            sign_ins.extend([timed(|| node.sign_in(&nodes.stage, user)).1]);
            let report = json!({"memory": user, "started_at": 1_700_000_000, "shards": {}}).to_string();
            let reporting = timed(|| node.manage("PUT", "/bot/clusters/east/heartbeat", &report));
            heartbeats.extend([reporting.1]);
        }
        let refuse = |node: &Node| {
            let (refused, took) = timed(|| node.try_manage("PUT", "/bot/blocked/7", "").unwrap());
            assert_eq!(refused.status, 503, "{}", refused.body);
            assert_eq!(refused.body["data"]["error"], "storage_unavailable");
            took
        };
        let refusing: Vec<_> = nodes.all.iter().map(|node| scope.spawn(move || refuse(node))).collect();
        refusals.extend(refusing.into_iter().map(|took| took.join().unwrap()));
        assert!(!merging.is_finished());
        holding.release();
        assert_eq!(merging.join().unwrap()["added"], 2000);
    });
    ready.tell("another node merges, ready");
    sign_ins.tell("another node merges, sign-in");
    heartbeats.tell("another node merges, heartbeat");
    refusals.tell("another node merges, 503 of the rest of the feed");
    assert!(refusals.worst() < REFUSED, "{:?}", refusals.worst());
    // What was refused was not written, and can be sent again.
    for node in &nodes.all {
        let missing = node.try_manage("GET", "/bot/blocked/7", "").unwrap();
        assert_eq!(missing.status, 404, "{}", missing.body);
    }
    nodes.all[1].manage("PUT", "/bot/blocked/7", "");
}
