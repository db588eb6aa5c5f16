//! The server goes away and comes back, and the nodes stay.

use super::{
    super::stage::{Node, Stage, guild, until},
    Nodes,
    times::Times,
};
use crate::http::Answer;
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};
use xtask::postgres::{Cluster, Shutdown};

/// How soon after the server's return everything works again.
const RECOVERY: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_secs(20);
/// How long a visitor looks at an answer.
const PACE: Duration = Duration::from_millis(20);
/// How many writes each node has answered before the server goes away.
const WRITES: u64 = 5;

/// Asks for what is served from memory, at a visitor's pace, until nobody holds the other end of the channel any more.
/// Not one answer may fail. Gives how many there were.
fn visit(node: &Node, over: &Receiver<()>) -> usize {
    let mut visits = 0;
    while over.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout) {
        for path in ["/", "/team"] {
            let answer = node.try_get(path);
            assert_eq!(answer.map(|answer| answer.status), Some(200), "{path}");
            visits += 1;
        }
    }
    visits
}

/// Feeds guilds until one is refused, and gives those that were answered with their members.
fn write(node: &Node, first: u64, written: &AtomicU64) -> HashMap<u64, u64> {
    let mut answered = HashMap::new();
    for count in 0.. {
        let (id, members) = (first + count % 7, first + count);
        let answer =
            node.try_manage("PUT", &format!("/bot/guilds/{id}"), &guild(members).to_string()).unwrap();
        if answer.status != 200 {
            assert_unavailable(&answer);
            // Whether this one was written is not known, so nothing is expected of it.
            answered.remove(&id);
            return answered;
        }
        answered.insert(id, members);
        written.fetch_add(1, Relaxed);
    }
    answered
}

fn assert_unavailable(answer: &Answer) {
    let found = (answer.status, answer.body["data"]["error"].as_str());
    assert_eq!(found, (503, Some("storage_unavailable")), "{}", answer.body);
}

/// What needs the server is refused, and neither the session nor the code is blamed. Gives how long that took.
fn refusals(node: &Node, token: &str, code: &str) -> [Duration; 2] {
    assert_eq!(node.try_get("/feedback").unwrap().status, 200, "it is in memory");
    let asking: [&dyn Fn() -> Answer; 2] = [&|| node.guilds(token), &|| node.post(code)];
    let times = asking.map(|ask| {
        let begun = Instant::now();
        assert_unavailable(&ask());
        begun.elapsed()
    });
    assert!(!node.is_ready());
    times
}

/// Whether it works again. Until then it may be unavailable, and nothing else.
fn is_back(answer: &Answer) -> bool {
    if answer.status != 200 {
        assert_unavailable(answer);
    }
    answer.status == 200
}

/// The guilds that are stored, with their members.
fn stored(stage: &Stage, url: &str) -> HashMap<u64, u64> {
    let exported = stage.done(&["export"], url);
    let records = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let guilds = records.filter(|record| record["kind"] == "guild");
    guilds
        .map(|guild| (guild["id"].as_str().unwrap().parse().unwrap(), guild["members"].as_u64().unwrap()))
        .collect()
}

/// An outage of one server under three nodes.
struct Outage<'a> {
    nodes: &'a [Node],
    stage: &'a Stage,
    cluster: &'a mut Cluster,
    round: u64,
}

impl Outage<'_> {
    /// Stops the server under writes, and gives those that were answered.
    fn begin(&mut self, how: Shutdown) -> HashMap<u64, u64> {
        let Self { nodes, cluster, round, .. } = self;
        let written = &AtomicU64::new(0);
        let answered = thread::scope(|scope| {
            let firsts = (1 + *round * 100_000..).step_by(10_000);
            let writing: Vec<_> = nodes
                .iter()
                .zip(firsts)
                .map(|(node, first)| scope.spawn(move || write(node, first, written)))
                .collect();
            until("enough writes", LONG, || written.load(Relaxed) >= WRITES * nodes.len() as u64);
            cluster.stop(how).unwrap();
            writing.into_iter().flat_map(|writes| writes.join().unwrap()).collect()
        });
        println!("{how:?}: {} writes were answered before", written.load(Relaxed));
        answered
    }

    /// Starts the server again, and gives how long each node took until everything worked.
    fn end(&mut self, tokens: &[String]) -> Vec<Duration> {
        self.cluster.start_again().unwrap();
        let begun = Instant::now();
        let whole = |node: &Node, number: u64| {
            for token in tokens {
                until("signed in", LONG, || is_back(&node.guilds(token)));
            }
            until("feedback", LONG, || is_back(&node.try_get("/feedback").unwrap()));
            let (path, body) = (format!("/bot/guilds/{}", 1_000_000 + number), guild(1).to_string());
            until("writes", LONG, || is_back(&node.try_manage("PUT", &path, &body).unwrap()));
            until("ready", LONG, || node.is_ready());
            begun.elapsed()
        };
        thread::scope(|scope| {
            let whole = &whole;
            let nodes = self.nodes.iter().zip(0..);
            let recovering: Vec<_> =
                nodes.map(|(node, number)| scope.spawn(move || whole(node, number))).collect();
            recovering.into_iter().map(|whole| whole.join().unwrap()).collect()
        })
    }

    /// All of it, and gives how long each node took to be whole again.
    fn play(mut self, how: Shutdown) -> Vec<Duration> {
        let tokens: Vec<_> = self.nodes.iter().map(|node| node.sign_in(self.stage, self.round)).collect();
        let code = self.stage.platform().mint_code(self.round);
        let answered = self.begin(how);
        let refusals = thread::scope(|scope| {
            let code = &code;
            let asking: Vec<_> = self
                .nodes
                .iter()
                .zip(&tokens)
                .map(|(node, token)| scope.spawn(move || refusals(node, token, code)))
                .collect();
            asking.into_iter().flat_map(|asked| asked.join().unwrap()).collect()
        });
        Times::of(refusals).tell(&format!("server away ({how:?}), 503 of /guilds and /auth"));
        let recovered = self.end(&tokens);
        assert_eq!(self.nodes[0].post(&code).status, 200, "a code that met the outage is not spent");
        let stored = stored(self.stage, &self.cluster.url("postgres"));
        for (guild, members) in &answered {
            assert_eq!(stored.get(guild), Some(members), "guild {guild}");
        }
        recovered
    }
}

#[test]
fn while_the_server_restarts_public_answers_go_on_and_everything_is_back_soon_after() {
    let cluster = Cluster::start().unwrap();
    let url = cluster.url("postgres");
    let Nodes { all: nodes, stage, database: mut cluster } = Nodes::on(cluster, &url, &[]);
    let mut times = Times::default();
    let visits: usize = thread::scope(|scope| {
        // However this ends, the visits end with it.
        let visiting: Vec<_> = nodes
            .iter()
            .map(|node| {
                let (open, over) = channel();
                (open, scope.spawn(move || visit(node, &over)))
            })
            .collect();
        for (how, round) in [Shutdown::Fast, Shutdown::Immediate].into_iter().zip(1..) {
            let outage = Outage { nodes: &nodes, stage: &stage, cluster: &mut cluster, round };
            let recovered = outage.play(how);
            Times::of(recovered.clone()).tell(&format!("server back ({how:?}), node whole again"));
            times.extend(recovered);
        }
        visiting
            .into_iter()
            .map(|(open, visits)| {
                drop(open);
                visits.join().unwrap()
            })
            .sum()
    });
    println!("{visits} public answers during two outages, none failed");
    assert!(times.worst() < RECOVERY);
}

#[test]
fn a_node_is_stopped_in_time_and_without_complaint_while_the_server_is_away() {
    let (mut cluster, stage) = (Cluster::start().unwrap(), Stage::new());
    let node = stage.serve(&cluster.url("postgres"));
    node.sign_in(&stage, 1);
    cluster.stop(Shutdown::Immediate).unwrap();
    assert_unavailable(&node.try_manage("PUT", "/bot/blocked/13", "").unwrap());
    let begun = Instant::now();
    node.stop();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}
