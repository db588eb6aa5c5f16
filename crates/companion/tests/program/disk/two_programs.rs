//! Two programs on one SQLite file, which is a mistake that nobody pays for with what was written.

use super::failing::STORAGE;
use crate::stage::{Node, Stage, guild, guild_of, until};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};

/// What one of them does shows on the other within this time.
const SOON: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(30);
/// How often each of them changes the same guild.
const CHANGES: u64 = 10;
/// How many writes there are before one of them is killed.
const WRITES: u64 = 60;

/// Feeds guilds of its own until no answer comes or there are enough. Gives those that were acknowledged.
fn feed(node: &Node, first: u64, total: &AtomicU64) -> BTreeMap<u64, u64> {
    let mut acknowledged = BTreeMap::new();
    for members in 1..=2 * WRITES {
        let id = first + members % 7;
        // The one that is not answered may be made or not.
        let before = acknowledged.remove(&id);
        let path = format!("/bot/guilds/{id}");
        let Some(answer) = node.try_manage("PUT", &path, &guild(members).to_string()) else { break };
        assert_eq!(answer.status, 200, "after {before:?}: {}", answer.body);
        acknowledged.insert(id, members);
        total.fetch_add(1, Relaxed);
    }
    acknowledged
}

#[test]
fn two_programs_on_one_file_see_each_others_changes_and_lose_nothing_when_one_is_killed() {
    let stage = Stage::new();
    let [one, other] = [(); 2].map(|()| stage.serve(STORAGE));
    let token = one.sign_in(&stage, 1);
    let path = format!("/bot/guilds/{}", guild_of(1));
    let mut worst = Duration::ZERO;
    for members in 1..=2 * CHANGES {
        let (writer, reader) = if members % 2 == 0 { (&one, &other) } else { (&other, &one) };
        writer.manage("PUT", &path, &guild(members).to_string());
        let seen = until("seen by the other", PATIENCE, || {
            reader.guilds(&token).body["data"][0]["members"] == members
        });
        worst = worst.max(seen);
    }
    assert!(worst < SOON, "{worst:?}");
    other.sign_out(&token);
    assert!(until("ended for both", PATIENCE, || one.guilds(&token).status == 401) < SOON);

    let total = &AtomicU64::new(0);
    let (mut killed, kept) = thread::scope(|scope| {
        let (one, other) = (&one, &other);
        let killed = scope.spawn(move || feed(one, 1000, total));
        let kept = scope.spawn(move || feed(other, 2000, total));
        until("writes", PATIENCE, || total.load(Relaxed) >= WRITES);
        one.running.signal("KILL");
        (killed.join().unwrap(), kept.join().unwrap())
    });
    assert!(other.is_ready());
    killed.extend(kept);
    let exported = stage.done(&["export"], STORAGE);
    let records = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let stored: BTreeMap<u64, u64> = records
        .filter(|record| record["kind"] == "guild")
        .map(|guild| (guild["id"].as_str().unwrap().parse().unwrap(), guild["members"].as_u64().unwrap()))
        .collect();
    for (id, members) in &killed {
        assert_eq!(stored.get(id), Some(members), "guild {id}");
    }
    println!(
        "two programs on one file: each change seen by the other within {worst:.0?}; {} writes of both while one was killed, \
         none lost",
        total.load(Relaxed)
    );
}
