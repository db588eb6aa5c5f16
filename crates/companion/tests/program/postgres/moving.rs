//! From a SQLite file to PostgreSQL and back: nobody has to sign in again.

use super::{
    database::Database,
    stage::{Stage, guild, guild_of},
};
use crate::stored::WORLD;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Texts that databases have been known to spoil or to sort each in their own way.
const NAMES: [&str; 8] = [
    "Zebra",
    "ähnlich",
    "apple",
    "\u{1f989} owls",
    "tab\there",
    "\\x00 \\N \\.",
    "it's \"quoted\"",
    "e\u{301}",
];

fn checksum(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Moves everything from one storage to another, and gives the export of both.
fn move_all(stage: &Stage, from: &str, to: &str) -> [String; 2] {
    let exported = stage.done(&["export"], from);
    stage.write("moving.ndjson", &exported);
    let count = exported.lines().count();
    let imported = stage.done(&["import", "moving.ndjson"], to);
    assert_eq!(imported, format!("{count} records read: {count} added, 0 changed, 0 removed\n"));
    [exported, stage.done(&["export"], to)]
}

#[test]
fn everything_moves_from_sqlite_to_postgresql_and_back_and_everyone_stays_signed_in() {
    let (stage, database) = (Stage::new(), Database::new());
    let (first, server, second) = ("sqlite:first.db", database.url(), "sqlite:second.db");
    stage.write("world.ndjson", WORLD);
    stage.done(&["import", "world.ndjson"], first);
    let node = stage.serve(first);
    for (name, id) in NAMES.iter().zip(1..) {
        let mut guild = guild(id);
        guild["name"] = (*name).into();
        node.manage("PUT", &format!("/bot/guilds/{}", guild_of(id)), &guild.to_string());
    }
    let before = node.sign_in(&stage, 1);
    let shown = node.guilds(&before).body;
    node.stop();

    let [there, here] = move_all(&stage, first, &server);
    assert_eq!(there, here);
    println!("sha256 of the export from SQLite:     {}", checksum(&there));
    println!("sha256 of the export from PostgreSQL: {}", checksum(&here));
    let node = stage.serve(&server);
    assert_eq!(node.guilds(&before).body, shown);
    let meanwhile = node.sign_in(&stage, 2);
    node.stop();

    let [there, here] = move_all(&stage, &server, second);
    assert_eq!(checksum(&there), checksum(&here));
    for kind in ["session", "grant"] {
        let count = here.lines().filter(|line| line.contains(&format!("\"kind\":\"{kind}\""))).count();
        assert_eq!(count, 3, "{kind}s");
    }
    let node = stage.serve(second);
    assert_eq!(node.guilds(&before).body, shown);
    assert_eq!(node.guilds(&meanwhile).status, 200);
    node.stop();
    let asked = stage.platform().calls(companion_dev_identity::Route::Token);
    assert_eq!(asked, 2, "only who signed in was asked about");
}
