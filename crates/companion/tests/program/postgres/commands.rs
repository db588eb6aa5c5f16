//! The commands, on a database that is on a server.

use super::{
    database::Database,
    psql::psql,
    stage::{Node, Stage, guild, guild_of, until},
};
use std::time::Duration;

const OLD: &str = "b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2w=";
const NEW: &str = "bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmU=";
/// As `docs/several-nodes.md` tells operators.
const CONNECTIONS_OF_A_NODE: usize = 11;

#[test]
fn two_nodes_that_start_at_once_on_an_empty_database_both_serve() {
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
fn migrating_makes_the_tables_once_and_says_so() {
    let (stage, database) = (Stage::new(), Database::new());
    let tables = || psql(&database.url(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'");
    assert_eq!(tables(), "0");
    assert_eq!(stage.done(&["migrate"], &database.url()), "The database is up to date.\n");
    let made = tables();
    assert_ne!(made, "0");
    assert_eq!(stage.done(&["migrate"], &database.url()), "The database is up to date.\n");
    assert_eq!(tables(), made);
}

#[test]
fn doctor_looks_at_a_database_on_a_server_and_leaves_nothing_there() {
    let (stage, database) = (Stage::new(), Database::new());
    let node = stage.serve(&database.url());
    let tables = || psql(&database.url(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'");
    let before = tables();
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
    node.stop();
}

#[test]
fn sessions_that_a_command_ends_are_refused_by_every_node_within_a_second() {
    let (stage, database) = (Stage::new(), Database::new());
    let nodes = [stage.serve(&database.url()), stage.serve(&database.url())];
    let token = nodes[0].sign_in(&stage, 1);
    for node in &nodes {
        assert_eq!(node.guilds(&token).status, 200);
    }
    assert_eq!(stage.done(&["sessions", "revoke-all", "--yes"], &database.url()), "1 session ended\n");
    for node in &nodes {
        until("refused", Duration::from_secs(1), || node.guilds(&token).status == 401);
    }
    assert_eq!(stage.done(&["sessions", "list", "--json"], &database.url()), "[]\n");
    for node in nodes {
        node.stop();
    }
}

#[test]
fn what_a_user_sees_is_explained() {
    let (stage, database) = (Stage::new(), Database::new());
    let node = stage.serve(&database.url());
    node.manage("PUT", &format!("/bot/guilds/{}", guild_of(1)), &guild(5).to_string());
    node.sign_in(&stage, 1);
    let told = stage.done(&["why", "1", &guild_of(1).to_string()], &database.url());
    assert!(told.contains("Listed: yes, as Owner"), "{told}");
}

#[test]
fn keys_are_changed_while_the_nodes_go_on() {
    let (stage, database) = (Stage::new(), Database::new());
    let with =
        |arguments, keys| stage.program(arguments, &database.url()).env("COMPANION_SECRETS__KEY", keys);
    let node = Node::of(with(&["serve"], OLD).start());
    let token = node.sign_in(&stage, 1);
    node.stop();
    let both = format!("[\"{NEW}\", \"{OLD}\"]");
    let node = Node::of(with(&["serve"], &both).start());
    let resealed = with(&["reseal"], &both).finish();
    assert!(resealed.out.starts_with("1 grant sealed again, 0 needed nothing"), "{}", resealed.out);
    assert_eq!(resealed.code, Some(0), "{}", resealed.err);
    assert_eq!(node.guilds(&token).status, 200);
    let untouched = with(&["reseal"], NEW).finish();
    assert!(untouched.out.starts_with("0 grants sealed again, 1 needed nothing"), "{}", untouched.out);
}

#[test]
fn a_database_that_is_not_there_is_named() {
    let (stage, database) = (Stage::new(), Database::new());
    let url = format!("{}_elsewhere", database.url());
    let failed = stage.program(&["serve"], &url).finish();
    assert_eq!(failed.code, Some(1), "{}", failed.err);
    assert!(failed.err.contains("storage.url: there is no database companion_program_"), "{}", failed.err);
    assert!(failed.err.contains("create it with CREATE DATABASE"), "{}", failed.err);
}
