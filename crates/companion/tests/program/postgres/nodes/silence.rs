//! Nodes that hear no announcement.

use super::{super::psql::psql, Nodes};
use std::process::Command;

/// The last thing that a listener asks before it only listens.
const LISTENERS: &str = "SELECT pid FROM pg_stat_activity \
    WHERE datname = current_database() AND query LIKE 'SELECT revision AS latest%'";

/// While this lasts, the server's side of every listener is stopped: the connection is there, and nothing comes.
pub(super) struct Silence(Vec<String>);

impl Silence {
    pub(super) fn over(nodes: &Nodes) -> Self {
        let listeners: Vec<_> = psql(&nodes.url(), LISTENERS).lines().map(str::to_owned).collect();
        assert_eq!(listeners.len(), nodes.all.len(), "each node listens");
        signal("STOP", &listeners);
        Self(listeners)
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // A server cannot end while a process of its own stands still.
        signal("CONT", &self.0);
    }
}

fn signal(name: &str, processes: &[String]) {
    assert!(Command::new("kill").args(["-s", name]).args(processes).status().unwrap().success());
}
