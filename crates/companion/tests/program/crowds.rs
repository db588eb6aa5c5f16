//! Many clients at once: all users after a restart.
//!
//! The default run is small. `CROWDS=full` uses ten thousand sessions, and needs a release build: all simultaneous
//! requests must finish within the request timeout of five seconds.

use crate::{
    http::Kept,
    metrics,
    stage::{Node, Stage, account, each, guild, guild_of, sync_lines},
};
use companion_dev_identity::Route;
use serde_json::json;
use std::{collections::BTreeMap, time::Instant};

const STORAGE: &str = "sqlite:companion.db";
const KEY: &str = "the-management-key";
/// Concurrent sign-ins.
const CONCURRENT: u64 = 50;

/// Starts a node whose guild lists stay fresh for the whole test.
fn serve(stage: &Stage) -> Node {
    let program = stage.program(&["serve"], STORAGE).env("COMPANION_GUILDS__REFRESH_AFTER", "1h");
    // All clients share one address.
    Node::ready(program.env("COMPANION_LIMITS__CONNECTIONS_PER_ADDRESS", "20000"))
}

/// Returns the value of a counter.
fn counted(node: &Node, sample: &str) -> f64 {
    metrics::value(&metrics::page(node.management(), KEY), sample)
}

#[test]
fn serves_all_sessions_at_once_after_a_restart() {
    let full = std::env::var("CROWDS").is_ok_and(|size| size == "full");
    let sessions = if full { 10_000 } else { 100 };
    let stage = Stage::new();
    for user in 1..=sessions {
        stage.platform().put_user(account(user, &[guild_of(user)]));
    }
    let node = serve(&stage);
    node.manage("POST", "/bot/sync", &sync_lines((1..=sessions).map(guild_of), &guild(1)));
    let begun = Instant::now();
    let sign_in = |user: u64| {
        let token = node.sign_in(&stage, user);
        // On a busy machine a session begins before its list has arrived. Without a list it would be read twice below.
        while node.begin_guilds(&token).and_then(Kept::json).is_none_or(|answer| answer.status != 200) {}
        (user, token)
    };
    let shares = each(1..=CONCURRENT, |first| {
        (first..=sessions).step_by(CONCURRENT as usize).map(sign_in).collect::<Vec<_>>()
    });
    let tokens: BTreeMap<_, _> = shares.into_iter().flatten().collect();
    let commits = counted(&node, "companion_storage_commits_total");
    println!("{sessions} sign-ins in {:?} with {commits} commits", begun.elapsed());
    node.stop();

    let calls = || Route::ALL.map(|route| stage.platform().calls(route));
    let calls_before = calls();
    let node = serve(&stage);
    let begun = Instant::now();
    // Send every request before the first response is read.
    let asking: Vec<_> = tokens.values().map(|token| node.begin_guilds(token).unwrap()).collect();
    let asked = begun.elapsed();
    let answers: Vec<_> = asking.into_iter().map(|sent| sent.json().unwrap()).collect();
    let took = begun.elapsed();
    println!("all had asked after {asked:?}");
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status != 200).collect();
    let first = refused.first().map(|answer| answer.body.to_string());
    assert_eq!(
        first,
        None,
        "{} of {sessions}, {asked:?} and {took:?} after they began to ask",
        refused.len()
    );
    for (user, answer) in (1..).zip(&answers) {
        let shown: Vec<_> =
            answer.body["data"].as_array().unwrap().iter().map(|guild| &guild["id"]).collect();
        assert_eq!(shown, [&json!(guild_of(user).to_string())]);
    }
    for copies in ["sessions", "listings"] {
        let sample = format!("companion_cache_requests_total{{copies=\"{copies}\",outcome=\"miss\"}}");
        let reads = counted(&node, &sample);
        assert!(reads <= sessions as f64, "{reads} reads of {copies} for {sessions} sessions");
        println!("{sessions} sessions after a restart in {took:?}: {reads} reads of {copies}");
    }
    assert_eq!(calls(), calls_before, "lists that are not old are not fetched");
}
