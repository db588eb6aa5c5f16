//! Three nodes on one database.
//!
//! Each test prints its measurements as table rows: what, count, median, worst.
//! `cargo nextest run -p companion --no-capture postgres::nodes | grep '^|'` shows the whole table.

mod feeds;
mod outage;

use super::{Database, psql};
use crate::{
    isolation::{self, Size},
    stage::{Node, Stage, each, until},
};
use companion_dev_identity::Route;
use std::{process::Command, time::Duration};

/// Bound of the propagation of a change to all nodes.
const PROPAGATION: Duration = Duration::from_secs(1);

/// A database, a platform and three nodes for one test.
struct Nodes {
    // Drop order matters: the nodes stop before their database.
    all: Vec<Node>,
    stage: Stage,
    database: Database,
}

impl Nodes {
    fn start() -> Self {
        Self::on(Database::new())
    }

    fn on(database: Database) -> Self {
        let (stage, url) = (Stage::new(), database.url());
        let starting: Vec<_> = (0..3).map(|_| stage.program(&["serve"], &url).start()).collect();
        let all: Vec<_> = starting.into_iter().map(Node::of).collect();
        for node in &all {
            until("ready", Duration::from_secs(10), || node.is_ready());
        }
        Self { all, stage, database }
    }

    /// Returns one node, and the others.
    fn split(&self, turn: usize) -> (&Node, Vec<&Node>) {
        let turn = turn % self.all.len();
        let others = self.all.iter().enumerate().filter(|(number, _)| *number != turn);
        (&self.all[turn], others.map(|(_, node)| node).collect())
    }
}

/// Polls all these nodes until the condition holds, and returns how long each of them took.
fn until_each<N: Sync>(nodes: &[&N], what: &str, is_so: impl Fn(&N) -> bool + Sync) -> Vec<Duration> {
    each(nodes, |node| until(what, 3 * PROPAGATION, || is_so(node)))
}

/// Durations of a repeated operation.
#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn extend(&mut self, times: impl IntoIterator<Item = Duration>) {
        self.0.extend(times);
    }

    fn worst(&self) -> Duration {
        self.0.iter().max().copied().unwrap()
    }

    /// Prints a row of the table.
    fn tell(&self, what: &str) {
        let mut sorted = self.0.clone();
        sorted.sort();
        let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
        let (median, worst) = (milliseconds(sorted[sorted.len() / 2]), milliseconds(self.worst()));
        println!("| {what} | {} | {median:.0} ms | {worst:.0} ms |", sorted.len());
    }
}

/// The last statement of a listening connection.
const LISTENERS: &str = "SELECT pid FROM pg_stat_activity \
    WHERE datname = current_database() AND query LIKE 'SELECT revision AS latest%'";

/// Stops the server process of every listener: the connection stays open, and no notification arrives.
struct Silence(Vec<String>);

impl Silence {
    fn over(nodes: &Nodes) -> Self {
        let listeners: Vec<_> = psql(&nodes.database.url(), LISTENERS).lines().map(str::to_owned).collect();
        assert_eq!(listeners.len(), nodes.all.len(), "each node listens");
        signal("STOP", &listeners);
        Self(listeners)
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // The server cannot shut down while one of its processes is stopped.
        signal("CONT", &self.0);
    }
}

fn signal(name: &str, processes: &[String]) {
    assert!(Command::new("kill").args(["-s", name]).args(processes).status().unwrap().success());
}

/// Ends a user's session in one of the possible ways.
fn end(node: &Node, way: usize, user: usize, token: &str) {
    match way % 4 {
        0 => node.sign_out(token),
        1 => drop(node.manage("DELETE", &format!("/users/{user}/sessions"), "")),
        2 => {
            let sessions = node.manage("GET", &format!("/sessions?user={user}"), "");
            let id = sessions[0]["id"].as_str().unwrap();
            node.manage("DELETE", &format!("/sessions/{id}"), "");
        }
        _ => drop(node.manage("DELETE", &format!("/users/{user}"), "")),
    }
}

/// Returns how long after a session ended on one node the others refuse it.
fn ends(nodes: &Nodes) -> Times {
    let mut times = Times::default();
    for round in 0..4 {
        let user = round + 1;
        let (one, others) = nodes.split(round);
        let token = one.sign_in(&nodes.stage, user as u64);
        for node in &nodes.all {
            assert_eq!(node.guilds(&token).status, 200, "a session is known with the very next request");
        }
        end(one, round, user, &token);
        assert_eq!(one.guilds(&token).status, 401, "the node itself never lags behind");
        times.extend(until_each(&others, "refused", |node| node.guilds(&token).status == 401));
        for node in &nodes.all {
            assert_eq!(node.guilds(&token).status, 401, "what ended stays ended");
        }
    }
    times
}

#[test]
fn a_code_posted_to_all_nodes_yields_one_session_and_one_call() {
    const ROUNDS: u64 = 3;
    const POSTS_TO_EACH_NODE: usize = 4;
    let nodes = Nodes::start();
    let control = nodes.stage.platform();
    let posts = POSTS_TO_EACH_NODE * nodes.all.len();
    for round in 1..=ROUNDS {
        let code = control.mint_code(round);
        let posted_to = (0..POSTS_TO_EACH_NODE).flat_map(|_| &nodes.all);
        let mut statuses = each(posted_to, |node| node.post(&code).status);
        statuses.sort_unstable();
        let mut expected = vec![401; posts];
        expected[0] = 200;
        assert_eq!(statuses, expected);
        for node in &nodes.all {
            assert_eq!(node.post(&code).body["data"]["error"], "idp_code_invalid");
        }
        assert_eq!(control.calls(Route::Token), round);
    }
    println!(
        "{ROUNDS} codes, each posted {posts} times over three nodes: {ROUNDS} sessions, {ROUNDS} exchanges"
    );
}

#[test]
fn isolation_on_three_nodes() {
    let (database, stage) = (Database::new(), Stage::new());
    let url = database.url();
    let nodes = each(0..3, |_| isolation::serve(&stage, &url));
    isolation::play(&stage, &nodes, &Size::from_environment());
}

/// A bound that is never reached unless a test fails.
const TIMEOUT: Duration = Duration::from_secs(20);
