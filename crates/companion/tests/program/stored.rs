//! Data that lasts: migrate, export, import, backup.

use crate::{
    http,
    program::{Finished, Program},
};
use std::{fs, sync::Arc};
use tempfile::TempDir;

/// The session is of a day to come, so that no serving program takes it away for its age.
pub(crate) const WORLD: &str = r##"{"kind":"member","guild":"500","user":"7","roles":["50"]}
{"kind":"guild","id":"500","name":"Night Owls","icon":null,"members":3,"owner":"9","setup":true,"linked":false,"roles":{"MOD":["50"]}}
{"kind":"plus","user":"9","guilds":["500"],"slots":2}
{"kind":"staff","user":"9","permissions":["SUPPORT"]}
{"kind":"blocked","user":"13"}
{"kind":"feedback","id":"f-1","feedback":"Splendid","rating":5,"timestamp":1700000000,"submitter":{"username":"u","name":"U","id":"7","avatar":"https://cdn.example/a.png"}}
{"kind":"team","username":"u","name":"U","avatar":"https://cdn.example/a.png","discord_id":"7","role":"Lead","color":"#1ABC9C","category":"Board","position":1}
{"kind":"session","id":"00000000000000000000000000000000000000000000000000000000000000aa","user":"7","created_at":4000000000000000,"last_seen_at":4000000000000001}
{"kind":"grant","user":"7","version":4,"tokens":"c2VhbGVk","list":{"fetched_at":1700000000000000,"guilds":[{"id":"500","owner":true,"permissions":"8"}]}}
"##;

fn run(folder: &Arc<TempDir>, arguments: &[&str]) -> Finished {
    Program::within(folder, arguments).finish()
}

fn sorted_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<_> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap().to_string())
        .collect();
    lines.sort();
    lines
}

/// A folder whose database holds the world above.
fn folder_with_world() -> Arc<TempDir> {
    let folder = Arc::new(TempDir::new().unwrap());
    fs::write(folder.path().join("world.ndjson"), WORLD).unwrap();
    let imported = run(&folder, &["import", "world.ndjson"]);
    assert_eq!(imported.code, Some(0), "{}", imported.err);
    assert_eq!(imported.out, "9 records read: 9 added, 0 changed, 0 removed\n");
    folder
}

#[test]
fn what_is_exported_is_what_was_imported_sessions_and_grants_included() {
    let folder = folder_with_world();
    let exported = run(&folder, &["export"]);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    assert_eq!(sorted_lines(&exported.out), sorted_lines(WORLD));
    assert_eq!(exported.err, "9 records exported\n");
    let again = run(&folder, &["import", "world.ndjson"]);
    assert_eq!(again.out, "9 records read: 0 added, 0 changed, 0 removed\n");
}

#[test]
fn a_file_with_a_mistake_changes_nothing_and_the_mistake_is_named() {
    let folder = Arc::new(TempDir::new().unwrap());
    fs::write(
        folder.path().join("bad.ndjson"),
        format!("{WORLD}{{\"kind\":\"blocked\",\"user\":\"zero\"}}\n"),
    )
    .unwrap();
    let refused = run(&folder, &["import", "bad.ndjson"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.err.contains("nothing was imported: line 10: user must be a platform id"),
        "{}",
        refused.err
    );
    assert_eq!(run(&folder, &["export"]).out, "");
    let missing = run(&folder, &["import", "nowhere.ndjson"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("cannot open nowhere.ndjson"), "{}", missing.err);
}

#[test]
fn a_backup_of_a_serving_program_is_a_database_of_its_own() {
    let folder = folder_with_world();
    let mut service = Program::within(&folder, &["serve"])
        .env("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
        .env("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
        .start();
    let public = service.public();
    let copied = run(&folder, &["backup", "copy.db"]);
    assert_eq!(copied.code, Some(0), "{}", copied.err);
    assert_eq!(http::get(&public, "/team", &[]).body["data"][0]["role"], "Lead");
    service.signal("INT");
    assert_eq!(service.finish().code, Some(0));
    let restored =
        Program::within(&folder, &["export"]).env("COMPANION_STORAGE__URL", "sqlite:copy.db").finish();
    assert_eq!(sorted_lines(&restored.out), sorted_lines(WORLD));
    let twice = run(&folder, &["backup", "copy.db"]);
    assert_eq!(twice.code, Some(1), "an existing file is never overwritten");
}

#[test]
fn what_was_fed_is_there_after_a_restart() {
    let folder = folder_with_world();
    for _ in 0..2 {
        let mut service = Program::within(&folder, &["serve"])
            .env("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
            .env("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
            .start();
        let public = service.public();
        assert_eq!(http::get(&public, "/feedback", &[]).body["data"][0]["feedback"], "Splendid");
        service.signal("INT");
        assert_eq!(service.finish().code, Some(0));
    }
}

#[test]
fn migrating_is_done_by_hand_too_and_storage_in_memory_has_nothing_to_work_on() {
    let folder = Arc::new(TempDir::new().unwrap());
    let migrated = run(&folder, &["migrate"]);
    assert_eq!((migrated.code, migrated.out.as_str()), (Some(0), "The database is up to date.\n"));
    assert!(folder.path().join("companion.db").exists());
    for command in [&["migrate"][..], &["export"], &["import", "-"], &["backup", "a.db"]] {
        let refused = Program::within(&folder, command).env("COMPANION_STORAGE__URL", "memory:").finish();
        assert_eq!(refused.code, Some(2), "{command:?}");
        assert!(refused.err.contains("COMPANION_STORAGE__URL=sqlite:PATH"), "{}", refused.err);
    }
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let folder = Arc::new(TempDir::new().unwrap());
    let file = folder.path().join("companion.db");
    fs::write(&file, "this is a shopping list, not a database, and long enough to be looked at").unwrap();
    let refused = run(&folder, &["serve"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("storage.url"), "{}", refused.err);
    assert!(fs::read_to_string(&file).unwrap().starts_with("this is a shopping list"));
}

#[test]
fn a_dry_run_tells_what_an_import_would_change_and_changes_nothing() {
    let folder = Arc::new(TempDir::new().unwrap());
    fs::write(folder.path().join("world.ndjson"), WORLD).unwrap();
    let dry = || run(&folder, &["import", "world.ndjson", "--dry-run"]);
    let all = "9 records read: 9 would be added, 0 changed, 0 removed; nothing was imported\n";
    let unmade = dry();
    assert_eq!((unmade.code, unmade.out.as_str()), (Some(0), all), "{}", unmade.err);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no database is made");

    assert_eq!(run(&folder, &["migrate"]).code, Some(0));
    assert_eq!(dry().out, all);
    assert_eq!(run(&folder, &["export"]).out, "");
    assert_eq!(
        run(&folder, &["import", "world.ndjson"]).out,
        all.replace("would be ", "").replace("; nothing was imported", "")
    );

    let changed = WORLD.replace("Night Owls", "Early Birds") + "{\"kind\":\"blocked\",\"user\":\"14\"}\n";
    fs::write(folder.path().join("world.ndjson"), changed).unwrap();
    assert_eq!(dry().out, "10 records read: 1 would be added, 1 changed, 0 removed; nothing was imported\n");
    assert_eq!(sorted_lines(&run(&folder, &["export"]).out), sorted_lines(WORLD));

    fs::write(folder.path().join("world.ndjson"), "{\"kind\":\"blocked\",\"user\":\"zero\"}\n").unwrap();
    let refused = dry();
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("line 1: user must be a platform id"), "{}", refused.err);
}
