//! Three nodes on one database, as an operator runs them.
//!
//! Each test prints what it measured as rows of a table: what, how often, median, worst.
//! `cargo nextest run -p companion --no-capture postgres::nodes | grep '^|'` shows the whole table.

mod changes;
mod codes;
mod failover;
mod feeds;
mod isolation;
mod line;
mod merging;
mod outage;
mod partition;
mod refreshes;
mod sessions;
mod silence;
mod times;

use super::{
    database::Database,
    stage::{Node, Stage, until},
};
use std::{thread, time::Duration};

/// What one node does shows on all of them within this time.
const SOON: Duration = Duration::from_secs(1);

/// A database, a platform and three nodes, all for one test.
struct Nodes<D = Database> {
    // In this order: the nodes end before their database.
    all: Vec<Node>,
    stage: Stage,
    database: D,
}

impl Nodes {
    fn start() -> Self {
        Self::with(&[])
    }

    /// Nodes with these settings besides.
    fn with(settings: &[(&str, &str)]) -> Self {
        let database = Database::new();
        let url = database.url();
        Self::on(database, &url, settings)
    }

    /// Nodes on a server of their own, for a test that stops processes of the server.
    fn alone() -> Self {
        let database = Database::alone();
        let url = database.url();
        Self::on(database, &url, &[])
    }

    /// The address of the database.
    fn url(&self) -> String {
        self.database.url()
    }
}

impl<D> Nodes<D> {
    /// Nodes on the database at this address.
    fn on(database: D, url: &str, settings: &[(&str, &str)]) -> Self {
        let stage = Stage::new();
        let node = |_| {
            let program = stage.program(&["serve"], url);
            settings.iter().fold(program, |program, (name, value)| program.env(name, value)).start()
        };
        let starting: Vec<_> = (0..3).map(node).collect();
        let all: Vec<_> = starting.into_iter().map(Node::of).collect();
        for node in &all {
            until("ready", Duration::from_secs(10), || node.is_ready());
        }
        Self { all, stage, database }
    }

    /// One node, and the others.
    fn split(&self, turn: usize) -> (&Node, Vec<&Node>) {
        let turn = turn % self.all.len();
        let others = self.all.iter().enumerate().filter(|(number, _)| *number != turn);
        (&self.all[turn], others.map(|(_, node)| node).collect())
    }
}

/// Asks all of these nodes again and again until it is so, and says how long each of them took.
fn until_each(nodes: &[&Node], what: &str, is_so: impl Fn(&Node) -> bool + Sync) -> Vec<Duration> {
    let is_so = &is_so;
    thread::scope(|scope| {
        let asking: Vec<_> =
            nodes.iter().map(|node| scope.spawn(move || until(what, 3 * SOON, || is_so(node)))).collect();
        asking.into_iter().map(|asked| asked.join().unwrap()).collect()
    })
}
