//! The program on PostgreSQL: its commands, migration from and to SQLite, and several nodes.
//!
//! Modules of this name are skipped if PostgreSQL is not installed.

mod nodes;

use crate::{
    stage::{Node, Stage, guild, guild_of, until},
    stored::WORLD,
};
use companion_dev_identity::Route;
use std::{
    path::PathBuf,
    process::{self, Command},
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use url::Url;
use xtask::postgres::{Cluster, VARIABLE};

static PSQL: LazyLock<PathBuf> = LazyLock::new(|| xtask::postgres::program("psql"));

/// Runs a statement directly on a server, and returns its rows, one per line.
pub(crate) fn psql(url: &str, statement: &str) -> String {
    let quiet = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"];
    let mut command = Command::new(&*PSQL);
    let output = command.args(quiet).args(["--command", statement, url]).output().unwrap();
    assert!(output.status.success(), "{statement}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// A database that is dropped with the test, on the shared server or on its own.
pub(crate) struct Database {
    server: Url,
    name: String,
    own: Option<Cluster>,
}

impl Database {
    pub(crate) fn new() -> Self {
        match std::env::var(VARIABLE) {
            Ok(shared) if !shared.is_empty() => Self::on(&shared, None),
            _ => Self::alone(),
        }
    }

    /// Creates a database on its own server, for tests that would disturb others.
    pub(crate) fn alone() -> Self {
        let cluster = Cluster::start().unwrap();
        Self::on(&cluster.url("postgres"), Some(cluster))
    }

    fn on(server: &str, own: Option<Cluster>) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let name = format!("companion_program_{}_{}", process::id(), NEXT.fetch_add(1, Relaxed));
        // An earlier process with the same id may have been killed.
        psql(server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        psql(server, &format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"));
        Self { server: Url::parse(server).unwrap(), name, own }
    }

    pub(crate) fn url(&self) -> String {
        let mut url = self.server.clone();
        url.set_path(&self.name);
        url.into()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.own.is_none() && !std::thread::panicking() {
            psql(self.server.as_str(), &format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}

#[test]
fn two_nodes_that_start_at_once_on_an_empty_database_both_serve() {
    /// As `docs/operate.md` tells operators.
    const CONNECTIONS_OF_A_NODE: usize = 11;
    let (stage, database) = (Stage::new(), Database::new());
    let starting = [(); 2].map(|()| stage.program(&["serve"], &database.url()).start());
    let [mut one, other] = starting.map(Node::of);
    for node in [&one, &other] {
        until("ready", Duration::from_secs(10), || node.is_ready());
        assert_eq!(node.get("/team"), serde_json::json!([]));
    }
    let connections = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                       AND application_name = 'companion'";
    let expected = (2 * CONNECTIONS_OF_A_NODE).to_string();
    until("all connections", Duration::from_secs(10), || psql(&database.url(), connections) == expected);
    assert_eq!(one.running.said("Storage:"), "Storage:        PostgreSQL");
    assert_eq!(one.running.said("Management key:"), "Management key: as configured");
    one.stop();
    other.stop();
}

#[test]
fn creates_tables_once_and_doctor_leaves_no_data() {
    let (stage, database) = (Stage::new(), Database::new());
    let tables = || psql(&database.url(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'");
    assert_eq!(tables(), "0");
    assert_eq!(stage.done(&["migrate"], &database.url()), "The database is up to date.\n");
    let before = tables();
    assert_ne!(before, "0");
    assert_eq!(stage.done(&["migrate"], &database.url()), "The database is up to date.\n");
    let said = stage.program(&["doctor"], &database.url()).finish().out;
    for line in [
        "ok       database             storage.url: PostgreSQL answers\n",
        "ok       synced write         storage.url: a write on the server, taken back again, took ",
        "ok       schema               storage.url: it has all ",
        "warning  bot                  bot.silent_after: it has never reported\n",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert_eq!(tables(), before);
}

/// Moves all data from one storage to another, and returns the exports of both.
fn move_all(stage: &Stage, from: &str, to: &str) -> [String; 2] {
    let exported = stage.done(&["export"], from);
    stage.write("moving.ndjson", &exported);
    let count = exported.lines().count();
    let imported = stage.done(&["import", "moving.ndjson"], to);
    assert_eq!(imported, format!("{count} records read: {count} added, 0 changed, 0 removed\n"));
    [exported, stage.done(&["export"], to)]
}

#[test]
fn data_and_sessions_move_to_postgresql_and_back() {
    let (stage, database) = (Stage::new(), Database::new());
    let (first, server, second) = ("sqlite:first.db", database.url(), "sqlite:second.db");
    stage.write("world.ndjson", WORLD);
    stage.done(&["import", "world.ndjson"], first);
    let node = stage.serve(first);
    node.manage("PUT", &format!("/bot/guilds/{}", guild_of(1)), &guild(1).to_string());
    let before = node.sign_in(&stage, 1);
    let shown = node.guilds(&before).body;
    node.stop();

    let [there, here] = move_all(&stage, first, &server);
    assert_eq!(there, here);
    let node = stage.serve(&server);
    assert_eq!(node.guilds(&before).body, shown);
    let meanwhile = node.sign_in(&stage, 2);
    node.stop();

    let [there, here] = move_all(&stage, &server, second);
    assert_eq!(there, here);
    for kind in ["session", "grant"] {
        let count = here.lines().filter(|line| line.contains(&format!("\"kind\":\"{kind}\""))).count();
        assert_eq!(count, 3, "{kind}s");
    }
    let node = stage.serve(second);
    assert_eq!(node.guilds(&before).body, shown);
    assert_eq!(node.guilds(&meanwhile).status, 200);
    node.stop();
    let asked = stage.platform().calls(Route::Token);
    assert_eq!(asked, 2, "only who signed in was asked about");
}
