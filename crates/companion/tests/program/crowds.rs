//! Many clients at once: all users after a restart, and reads during continuous feeding.
//!
//! The default run is small. `CROWDS=full` uses ten thousand sessions and a hundred thousand guilds, and needs a
//! release build: all simultaneous requests must finish within the request timeout of five seconds.

use crate::{
    http, metrics,
    stage::{Node, Stage, account, guild, guild_of, sync_lines},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::Instant,
};

const STORAGE: &str = "sqlite:companion.db";
const KEY: &str = "the-management-key";
/// Concurrent sign-ins.
const CONCURRENT: u64 = 50;

fn size(usual: u64, full: u64) -> u64 {
    if std::env::var("CROWDS").is_ok_and(|size| size == "full") { full } else { usual }
}

/// Starts a node whose guild lists stay fresh for the whole test.
fn serve(stage: &Stage) -> Node {
    let program = stage.program(&["serve"], STORAGE).env("COMPANION_GUILDS__REFRESH_AFTER", "1h");
    // All clients share one address.
    Node::ready(program.env("COMPANION_LIMITS__CONNECTIONS_PER_ADDRESS", "20000"))
}

/// Returns the name of a guild in this version.
fn name(version: u64) -> String {
    format!("Version {version}")
}

/// Returns the version of a guild in a listing.
fn shown_version(guild: &Value) -> u64 {
    guild["name"].as_str().unwrap().strip_prefix("Version ").unwrap().parse().unwrap()
}

/// Feeds these guilds in version 0.
fn sync(node: &Node, guilds: impl Iterator<Item = u64>) {
    let mut first = guild(1);
    first["name"] = json!(name(0));
    let lines = sync_lines(guilds, &first);
    node.manage("POST", "/bot/sync?replace=all", &lines);
}

/// Runs `work` for each number on [`CONCURRENT`] threads, and returns the results.
fn each<T: Send>(numbers: u64, work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let (start, work) = (&Barrier::new(usize::try_from(CONCURRENT).unwrap()), &work);
    let share = move |first: u64| {
        start.wait();
        (first..numbers)
            .step_by(usize::try_from(CONCURRENT).unwrap())
            .map(|number| (number, work(number)))
            .collect()
    };
    thread::scope(|scope| {
        let shares: Vec<_> =
            (0..CONCURRENT).map(|first| scope.spawn(move || -> Vec<_> { share(first) })).collect();
        let done: BTreeMap<u64, T> = shares.into_iter().flat_map(|share| share.join().unwrap()).collect();
        done.into_values().collect()
    })
}

/// Returns the value of a counter.
fn counted(node: &Node, sample: &str) -> f64 {
    metrics::value(&metrics::page(node.management(), KEY), sample)
}

#[test]
fn serves_all_sessions_at_once_after_a_restart() {
    let sessions = size(100, 10_000);
    let stage = Stage::new();
    for user in 1..=sessions {
        stage.platform().put_user(account(user, &[guild_of(user)]));
    }
    let node = serve(&stage);
    sync(&node, (1..=sessions).map(guild_of));
    let begun = Instant::now();
    let tokens = each(sessions, |number| {
        let token = node.sign_in(&stage, number + 1);
        // On a busy machine a session begins before its list has arrived. Without a list it would be read twice below.
        while node.begin_guilds(&token).and_then(http::Sent::answer).is_none_or(|answer| answer.status != 200)
        {
        }
        token
    });
    let commits = counted(&node, "companion_storage_commits_total");
    println!("{sessions} sign-ins in {:?} with {commits} commits", begun.elapsed());
    node.stop();

    let asked_before = stage.platform().all_calls();
    let node = serve(&stage);
    let begun = Instant::now();
    // Send every request before the first response is read.
    let asking: Vec<_> = tokens.iter().map(|token| node.begin_guilds(token).unwrap()).collect();
    let asked = begun.elapsed();
    let answers: Vec<_> = asking.into_iter().map(|sent| sent.answer().unwrap()).collect();
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
    assert_eq!(stage.platform().all_calls(), asked_before, "lists that are not old are not fetched");
}

/// A guild that is updated repeatedly: the last version sent, and the last version acknowledged.
#[derive(Default)]
struct Fed {
    sent: AtomicU64,
    acknowledged: AtomicU64,
}

#[test]
fn every_listing_is_current_during_continuous_feeding() {
    const USERS: u64 = 20;
    const GUILDS_EACH: u64 = 10;
    const WRITERS: u64 = 4;
    let (guilds, changes) = (size(500, 100_000), size(200, 20_000));
    let stage = Stage::new();
    let node = serve(&stage);
    sync(&node, (1..=guilds).map(guild_of));
    // Users share guilds: each has ten consecutive ones, offset by five from the previous user.
    let listed = |user: u64| (0..GUILDS_EACH).map(move |place| 1 + (user * 5 + place) % (USERS * 5));
    let tokens: Vec<_> = (1..=USERS)
        .map(|user| {
            let own: Vec<_> = listed(user).map(guild_of).collect();
            stage.platform().put_user(account(user, &own));
            node.sign_in(&stage, user)
        })
        .collect();
    let fed: Vec<Fed> = (0..=USERS * 5).map(|_| Fed::default()).collect();
    let (fed, node, over) = (&fed, &node, &AtomicBool::new(false));

    let feed = move |writer: u64| {
        for change in (writer..changes).step_by(usize::try_from(WRITERS).unwrap()) {
            // Each guild has one writer, so that its versions are acknowledged in order.
            let number = 1 + change % (USERS * 5);
            let fed = &fed[usize::try_from(number).unwrap()];
            let version = fed.sent.fetch_add(1, SeqCst) + 1;
            let mut body = guild(1);
            body["name"] = json!(name(version));
            node.manage("PUT", &format!("/bot/guilds/{}", guild_of(number)), &body.to_string());
            fed.acknowledged.store(version, SeqCst);
        }
    };
    let read = move |user: u64, token: &str| {
        let mut answers = 0_u64;
        while !over.load(SeqCst) {
            let before: BTreeMap<_, _> = listed(user)
                .map(|number| {
                    let known = fed[usize::try_from(number).unwrap()].acknowledged.load(SeqCst);
                    (guild_of(number).to_string(), (number, known))
                })
                .collect();
            let answer = node.guilds(token);
            assert_eq!(answer.status, 200, "{}", answer.body);
            let shown = answer.body["data"].as_array().unwrap();
            assert_eq!(shown.len(), before.len());
            for guild in shown {
                let (number, known) = before[guild["id"].as_str().unwrap()];
                let sent = fed[usize::try_from(number).unwrap()].sent.load(SeqCst);
                let version = shown_version(guild);
                assert!((known..=sent).contains(&version), "{version} is not within {known} and {sent}");
            }
            answers += 1;
        }
        answers
    };
    let begun = Instant::now();
    let answers: u64 = thread::scope(|scope| {
        let readers: Vec<_> =
            (1..).zip(&tokens).map(|(user, token)| scope.spawn(move || read(user, token))).collect();
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || feed(writer))).collect();
        let fed: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        over.store(true, SeqCst);
        let answers = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        fed.into_iter().for_each(|writer| writer.unwrap());
        answers
    });
    let seconds = begun.elapsed().as_secs_f64();
    assert!(answers >= USERS);
    println!(
        "{guilds} guilds, {:.0} changes a second, {:.0} answers a second, none wrong",
        changes as f64 / seconds,
        answers as f64 / seconds
    );
    assert_eq!(http::get(node.management(), "/health/ready", &[]).status, 200);
}
