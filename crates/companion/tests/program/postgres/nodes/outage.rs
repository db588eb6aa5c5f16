//! Outages of the server: restart, failover to a standby, and a partition of one node.

use super::{Nodes, PROPAGATION, TIMEOUT, Times, until_each};
use crate::{
    http::Answer,
    postgres::{Database, psql},
    stage::{
        Api, InProcess, Node, Stage, each, exported_guilds, feed, guild, guild_of, is_unavailable, until,
    },
};
use companion_domain::model::Secret;
use companion_storage_diesel::PostgresOptions;
use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::{Shutdown as Direction, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, RwLock, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};
use url::Url;
use xtask::postgres::{Cluster, Shutdown};

/// Bound of the recovery after the server's return.
const RECOVERY: Duration = Duration::from_secs(2);
/// Pause between two requests of a visitor.
const VISITOR_PAUSE: Duration = Duration::from_millis(20);
/// Writes that each node has acknowledged before the server stops.
const WRITES: u64 = 5;

/// Requests what is served from memory at a visitor's pace until the channel is closed. Asserts that every request
/// succeeds, and returns their number.
fn visit(node: &Node, over: &Receiver<()>) -> usize {
    let mut visits = 0;
    while over.recv_timeout(VISITOR_PAUSE) == Err(RecvTimeoutError::Timeout) {
        for path in ["/", "/team"] {
            let answer = node.try_get(path);
            assert_eq!(answer.map(|answer| answer.status), Some(200), "{path}");
            visits += 1;
        }
    }
    visits
}

fn assert_unavailable(answer: &Answer) {
    assert!(is_unavailable(answer), "{}", answer.body);
}

/// Asserts that requests that need the server fail as unavailable, and blame neither the session nor the code. Returns
/// their durations.
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

/// Whether the request succeeds again. Until then it may only be unavailable.
fn is_back(answer: &Answer) -> bool {
    if answer.status != 200 {
        assert_unavailable(answer);
    }
    answer.status == 200
}

/// The user who is signed in during an outage.
const USER: u64 = 1;

/// Stops the server under writes, and returns the acknowledged ones.
fn stop_under_writes(nodes: &[Node], cluster: &mut Cluster) -> BTreeMap<u64, u64> {
    let written = &AtomicU64::new(0);
    let answered = thread::scope(|scope| {
        let writing = scope.spawn(|| {
            each(nodes.iter().zip(0..), |(node, number)| {
                let first = 1 + number * 10_000;
                feed(node, first, u64::MAX, written, |answer| is_unavailable(answer.unwrap()))
            })
        });
        until("enough writes", TIMEOUT, || written.load(Relaxed) >= WRITES * nodes.len() as u64);
        cluster.stop(Shutdown::Immediate).unwrap();
        writing.join().unwrap().into_iter().flatten().collect()
    });
    println!("{} writes were answered before", written.load(Relaxed));
    answered
}

/// Waits until a node serves everything again.
fn recovers(number: u64, node: &Node, tokens: &[String]) {
    for token in tokens {
        until("signed in", TIMEOUT, || is_back(&node.guilds(token)));
    }
    until("feedback", TIMEOUT, || is_back(&node.try_get("/feedback").unwrap()));
    let (path, body) = (format!("/bot/guilds/{}", 1_000_000 + number), guild(1).to_string());
    until("writes", TIMEOUT, || is_back(&node.try_manage("PUT", &path, &body).unwrap()));
    until("ready", TIMEOUT, || node.is_ready());
}

#[test]
fn serves_from_memory_and_stops_in_time_without_the_server() {
    let Nodes { all: nodes, stage, mut database } = Nodes::on(Database::alone());
    let url = database.url();
    let cluster = database.own.as_mut().unwrap();
    let tokens: Vec<_> = nodes.iter().map(|node| node.sign_in(&stage, USER)).collect();
    let code = stage.platform().mint_code(USER);
    let (visits, times) = thread::scope(|scope| {
        // Visitors end however this ends.
        let (open, over): (Vec<_>, Vec<_>) = nodes.iter().map(|_| channel()).unzip();
        let visiting: Vec<_> =
            nodes.iter().zip(over).map(|(node, over)| scope.spawn(move || visit(node, &over))).collect();
        let answered = stop_under_writes(&nodes, cluster);
        let refused = each(nodes.iter().zip(&tokens), |(node, token)| refusals(node, token, &code));
        Times(refused.into_flattened()).tell("server away, 503 of /guilds and /auth");
        cluster.start_again().unwrap();
        let begun = Instant::now();
        let times = each(nodes.iter().zip(0..), |(node, number)| {
            recovers(number, node, &tokens);
            begun.elapsed()
        });
        assert_eq!(nodes[0].post(&code).status, 200, "a code that met the outage is not spent");
        let stored = exported_guilds(&stage.done(&["export"], &url));
        for (guild, members) in &answered {
            assert_eq!(stored.get(guild), Some(members), "guild {guild}");
        }
        drop(open);
        let visits: usize = visiting.into_iter().map(|visits| visits.join().unwrap()).sum();
        (visits, Times(times))
    });
    times.tell("server back, node whole again");
    println!("{visits} public answers during the outage, none failed");
    assert!(times.worst() < RECOVERY);

    cluster.stop(Shutdown::Immediate).unwrap();
    assert_unavailable(&nodes[0].try_manage("PUT", "/bot/blocked/13", "").unwrap());
    each(nodes, |node| {
        let begun = Instant::now();
        node.stop();
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    });
}

/// Disconnects the standby: later commits never reach it.
fn cut_off(standby: &str) {
    psql(standby, "ALTER SYSTEM SET primary_conninfo = ''");
    psql(standby, "SELECT pg_reload_conf()");
    until("cut off", TIMEOUT, || psql(standby, "SELECT count(*) FROM pg_stat_wal_receiver") == "0");
}

#[test]
fn a_failover_that_repeats_revisions_revives_no_session() {
    let (mut primary, stage) = (Cluster::start().unwrap(), Stage::new());
    let mut standby = primary.standby().unwrap();
    let [one, other] = [(); 2].map(|()| stage.serve(&primary.url_of_either(&standby)));
    let nodes: [&Node; 2] = [&one, &other];
    for node in nodes {
        until("ready", TIMEOUT, || node.is_ready());
    }

    let kept = one.sign_in(&stage, 1);
    let subscriber = standby.url("postgres");
    until("caught up", TIMEOUT, || psql(&subscriber, "SELECT count(*) FROM sessions") == "1");
    cut_off(&subscriber);
    let lost = one.sign_in(&stage, 2);
    for node in nodes {
        assert_eq!([&kept, &lost].map(|token| node.guilds(token).status), [200, 200]);
    }

    // One of them receives no notification until the new server has made more changes than were lost.
    one.running.signal("STOP");
    primary.stop(Shutdown::Immediate).unwrap();
    standby.promote().unwrap();
    let body = guild(1).to_string();
    let written = |id: u64| other.try_manage("PUT", &format!("/bot/guilds/{id}"), &body);
    until("found", TIMEOUT, || written(1).is_some_and(|answer| answer.status == 200));
    other.sign_out(&kept);
    for id in 2..=20 {
        assert_eq!(written(id).unwrap().status, 200);
    }
    one.running.signal("CONT");
    until("found", TIMEOUT, || one.is_ready());
    for token in [&kept, &lost] {
        for node in nodes {
            until("refused", PROPAGATION, || node.guilds(token).status == 401);
        }
    }
    // New sessions are served by both nodes at once.
    let token = one.sign_in(&stage, 2);
    for node in nodes {
        assert_eq!(node.guilds(&token).status, 200);
        assert_eq!([&kept, &lost].map(|token| node.guilds(token).status), [401, 401]);
    }
}

/// A TCP proxy that forwards in both directions. While its gate is locked for writing, data is held back without
/// closing connections, as in a network partition.
struct Line {
    address: SocketAddr,
    gate: Arc<RwLock<()>>,
}

impl Line {
    /// Creates a proxy to the server of this URL.
    fn to(server: &str) -> Self {
        let server = Url::parse(server).unwrap();
        let place = (server.host_str().unwrap().to_owned(), server.port().unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let line = Self { address: listener.local_addr().unwrap(), gate: Arc::default() };
        let gate = Arc::clone(&line.gate);
        // Ends with the test process.
        thread::spawn(move || {
            for node in listener.incoming().flatten() {
                pass(&gate);
                // The server may have stopped already, at the end of the test.
                let Ok(server) = TcpStream::connect((place.0.as_str(), place.1)) else { continue };
                let back = (server.try_clone().unwrap(), node.try_clone().unwrap());
                for (from, to) in [(node, server), back] {
                    let gate = Arc::clone(&gate);
                    thread::spawn(move || carry(from, to, &gate));
                }
            }
        });
        line
    }

    /// Returns the server's URL through this proxy.
    fn url(&self, server: &str) -> String {
        let mut url = Url::parse(server).unwrap();
        url.set_port(Some(self.address.port())).unwrap();
        url.into()
    }

    /// Interrupts the line until the result is dropped.
    fn interrupt(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write().unwrap()
    }
}

/// Returns once the line is not interrupted. A test that failed while it was leaves it open.
fn pass(gate: &RwLock<()>) {
    drop(gate.read());
}

fn carry(mut from: TcpStream, mut to: TcpStream, gate: &RwLock<()>) {
    let mut buffer = [0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        pass(gate);
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    pass(gate);
    let _ = to.shutdown(Direction::Both);
}

const NODES_VARIABLE: &str = "NODES";
const USUAL_NODES: usize = 3;
/// How long a disconnected node may serve from its cache.
const CACHE_TRUST: Duration = Duration::from_secs(10);
/// Additional time of a response on a busy machine.
const SLACK: Duration = Duration::from_secs(1);

fn members(answer: &Answer) -> Option<u64> {
    answer.body["data"][0]["members"].as_u64()
}

/// Makes a change on each of these nodes in turn. Returns how long each other node took to show it.
fn change_at_each(nodes: &[&Api], token: &str, from: u64) -> Times {
    let mut times = Times::default();
    for (turn, members_now) in (0..nodes.len()).zip(from..) {
        let path = format!("/bot/guilds/{}", guild_of(1));
        nodes[turn].manage("PUT", &path, &guild(members_now).to_string());
        times.extend(until_each(nodes, "a change", |node| {
            let answer = node.guilds(token);
            assert_eq!(answer.status, 200, "{}", answer.body);
            members(&answer) == Some(members_now)
        }));
    }
    times
}

/// Returns the number of nodes of the full form, or `None` for the default form.
fn nodes() -> Option<usize> {
    std::env::var(NODES_VARIABLE).ok().map(|text| text.parse().unwrap())
}

/// Sends requests to a partitioned node until it refuses them, once its cache is too old.
fn refuses_in_time(parted: &Api, token: &str, parting: Instant) {
    let mut answered = 0;
    loop {
        let asked = parting.elapsed();
        let answer = parted.guilds(token);
        if answer.status != 200 {
            assert!(is_unavailable(&answer), "{}", answer.body);
            break;
        }
        assert!(asked < CACHE_TRUST, "still answered after {asked:?}");
        answered += 1;
    }
    let after = parting.elapsed();
    println!("parted node: {answered} answers from copies, then 503 after {after:.1?}");
    assert!(after < CACHE_TRUST + SLACK, "{after:?}");
}

/// Returns the options of the partitioned node. It answers some requests only when its timeouts have expired, so they
/// are short in the default form.
fn options(url: String, full: bool) -> PostgresOptions {
    let mut options = PostgresOptions::new(Secret::new(url));
    if !full {
        let timeout = Duration::from_millis(500);
        (options.limits.max_write_wait, options.statement_timeout) = (timeout, timeout);
    }
    options
}

/// The default form ends the partition while cached data is still trusted. The tests of `companion_cache` cover the
/// expiry.
#[test]
fn a_partition_affects_only_the_partitioned_node() {
    let (database, stage) = (Database::new(), Stage::new());
    let (full, server) = (nodes().is_some(), database.url());
    let line = Line::to(&server);
    let others = 1..nodes().unwrap_or(USUAL_NODES);
    let starting: Vec<_> = others.map(|_| stage.program(&["serve"], &server).start()).collect();
    let parted_node = InProcess::node(&stage, options(line.url(&server), full));
    let parted = parted_node.api();
    let others: Vec<_> = starting.into_iter().map(Node::of).collect();
    let others: Vec<&Api> = others.iter().map(|node| &**node).collect();
    let all: Vec<&Api> = others.iter().copied().chain([&parted]).collect();
    for node in &all {
        until("ready", TIMEOUT, || node.is_ready());
    }
    let [stays, ends] = [(); 2].map(|()| others[0].sign_in(&stage, 1));
    let whole = change_at_each(&all, &stays, 1);
    whole.tell("all nodes: from a change to every node");
    assert!(whole.worst() < PROPAGATION);
    assert_eq!(parted.guilds(&ends).status, 200);

    let parting = Instant::now();
    let interruption = line.interrupt();
    others[0].sign_out(&ends);
    let code = stage.platform().mint_code(2);
    thread::scope(|scope| {
        // The other nodes continue undisturbed.
        let rest = scope.spawn(|| change_at_each(&others, &stays, 100));
        if full {
            for token in [&stays, &ends] {
                let parted = &parted;
                scope.spawn(move || refuses_in_time(parted, token, parting));
            }
        }
        let rest = rest.join().unwrap();
        rest.tell("the others during a partition: from a change to every node");
        assert!(rest.worst() < PROPAGATION);
    });
    for path in ["/", "/team", "/feedback"] {
        assert_eq!(parted.try_get(path).unwrap().status, 200, "{path}");
    }
    thread::scope(|scope| {
        scope.spawn(|| assert!(is_unavailable(&parted.post(&code))));
        scope.spawn(|| assert!(is_unavailable(&parted.try_manage("PUT", "/bot/blocked/13", "").unwrap())));
        scope.spawn(|| assert!(!parted.is_ready()));
    });
    for node in &others {
        assert!(node.is_ready());
        assert_eq!((node.guilds(&stays).status, node.guilds(&ends).status), (200, 401));
    }

    let healing = Instant::now();
    drop(interruption);
    let last = others[0].guilds(&stays);
    until("healed", TIMEOUT, || {
        let (ended, answer) = (parted.guilds(&ends), parted.guilds(&stays));
        assert!(ended.status == 401 || is_unavailable(&ended) || !full, "{}", ended.body);
        if answer.status != 200 {
            assert!(is_unavailable(&answer), "{}", answer.body);
            return false;
        }
        assert!(members(&answer) == members(&last) || !full, "what it missed: {}", answer.body);
        ended.status == 401 && members(&answer) == members(&last) && parted.is_ready()
    });
    println!("parted node: whole again {:.1?} after the partition ended", healing.elapsed());
    assert_eq!(others[0].post(&code).status, 200, "a code that met the partition is not spent");
    let again = change_at_each(&all, &stays, 200);
    again.tell("all nodes after the partition: from a change to every node");
    assert!(again.worst() < PROPAGATION);
    parted_node.stop();
}
