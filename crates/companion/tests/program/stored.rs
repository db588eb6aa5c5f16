//! Stored data, and files and servers that are missing, damaged or removed.

use crate::{
    http,
    program::{Finished, Program},
    sessions::audited,
    stage::{KEY as SECRETS_KEY, until},
};
use companion_storage_diesel::{DieselStorage, SqliteOptions};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The session is dated in the future, so that no serving program expires it.
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

/// A picture URL that an earlier version accepted.
const OLD_PICTURE: &str = "UPDATE team SET avatar = 'https://user@cdn.example/a.png' WHERE user_id = 7;
    UPDATE feedback SET submitter_avatar = 'https://user@cdn.example/a.png' WHERE id = 'f-1';";

/// Runs statements on the database.
pub(crate) fn run_statements(folder: &TempDir, statements: &str) {
    let options = SqliteOptions::new(folder.path().join("companion.db"));
    let options = SqliteOptions { writer_setup: statements.to_owned(), ..options };
    Runtime::new().unwrap().block_on(async { DieselStorage::open(options).await.unwrap().close().await });
    // The pool may still be opening a connection, which removes the log when it closes.
    until("the database is closed", Duration::from_secs(10), || {
        !folder.path().join("companion.db-wal").exists()
    });
}

fn folder() -> Arc<TempDir> {
    Arc::new(TempDir::new().unwrap())
}

fn run(folder: &Arc<TempDir>, arguments: &[&str]) -> Finished {
    Program::run(folder, arguments)
}

fn serve(folder: &Arc<TempDir>) -> Program {
    Program::serving_within(folder).env("COMPANION_MANAGEMENT__KEY", "the-management-key")
}

fn sorted_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<_> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap().to_string())
        .collect();
    lines.sort();
    lines
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Deletes the database files, as an operator might by mistake.
fn remove_database(folder: &Path) {
    for name in names(folder)
        .iter()
        .filter(|name| ["", "-wal", "-shm"].map(|end| format!("companion.db{end}")).contains(name))
    {
        fs::remove_file(folder.join(name)).unwrap();
    }
}

#[test]
fn export_and_backup_contain_what_import_made() {
    let folder = folder();
    fs::write(folder.path().join("world.ndjson"), WORLD).unwrap();
    let dry = || run(&folder, &["import", "world.ndjson", "--dry-run"]);
    let unmade = dry();
    let all = "9 records read: 9 would be added, 0 changed, 0 removed; nothing was imported\n";
    assert_eq!((unmade.code, unmade.out.as_str()), (Some(0), all), "{}", unmade.err);
    assert_eq!(names(folder.path()), ["world.ndjson"], "no database is made");
    let imported = run(&folder, &["import", "world.ndjson"]);
    assert_eq!(imported.code, Some(0), "{}", imported.err);
    assert_eq!(imported.out, "9 records read: 9 added, 0 changed, 0 removed\n");
    let changed = WORLD.replace("Night Owls", "Early Birds") + "{\"kind\":\"blocked\",\"user\":\"14\"}\n";
    fs::write(folder.path().join("world.ndjson"), changed).unwrap();
    assert_eq!(dry().out, "10 records read: 1 would be added, 1 changed, 0 removed; nothing was imported\n");
    fs::write(folder.path().join("world.ndjson"), "{\"kind\":\"blocked\",\"user\":\"zero\"}\n").unwrap();
    for refused in [dry(), run(&folder, &["import", "world.ndjson"])] {
        assert_eq!(refused.code, Some(1));
        assert!(refused.err.contains("line 1: user must be a platform id"), "{}", refused.err);
    }
    let exported = run(&folder, &["export"]);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    assert_eq!(sorted_lines(&exported.out), sorted_lines(WORLD));
    assert_eq!(exported.err, "9 records exported\n");
    fs::write(folder.path().join("world.ndjson"), WORLD).unwrap();
    let again = run(&folder, &["import", "world.ndjson"]);
    assert_eq!(again.out, "9 records read: 0 added, 0 changed, 0 removed\n");

    let mut service = serve(&folder).start();
    let public = service.public();
    let copied = run(&folder, &["backup", "copy.db"]);
    assert_eq!(copied.code, Some(0), "{}", copied.err);
    assert_eq!(http::get(&public, "/team", &[]).body["data"][0]["role"], "Lead");
    service.stop();
    let restored =
        Program::within(&folder, &["export"]).env("COMPANION_STORAGE__URL", "sqlite:copy.db").finish();
    assert_eq!(sorted_lines(&restored.out), sorted_lines(WORLD));
    for (path, reason) in [("copy.db", "copy.db"), ("no/such/folder/copy.db", "No such file or directory")] {
        let refused = run(&folder, &["backup", path]);
        assert_eq!(refused.code, Some(1), "an existing file is never overwritten");
        assert!(refused.err.contains(path) && refused.err.contains(reason), "{}", refused.err);
    }

    run_statements(&folder, OLD_PICTURE);
    let exported = run(&folder, &["export"]);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    assert_eq!(exported.out.lines().count(), WORLD.lines().count() - 2);
    let told = "7 records exported\n2 stored rows could not be read and were left out: feedback 1, team 1\n";
    assert!(exported.err.ends_with(told), "{}", exported.err);
}

#[test]
fn migrates_on_command_and_refuses_storage_in_memory() {
    let folder = folder();
    let migrated = run(&folder, &["migrate"]);
    assert_eq!((migrated.code, migrated.out.as_str()), (Some(0), "The database is up to date.\n"));
    // Resealing generates no key.
    let refused = run(&folder, &["reseal"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        ["companion.db.key", "secrets.key"].iter().all(|part| refused.err.contains(part)),
        "{}",
        refused.err
    );
    assert!(!names(folder.path()).iter().any(|name| name.ends_with("key")));
    let missing = run(&folder, &["import", "nowhere.ndjson"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("cannot open nowhere.ndjson"), "{}", missing.err);
    let sqlite = "COMPANION_STORAGE__URL=sqlite:PATH";
    for (command, url, said) in [
        (&["migrate"][..], "memory:", sqlite),
        (&["import", "-"], "memory:", sqlite),
        (&["backup", "a.db"], "postgres://localhost/companion", "use pg_dump, or `companion export`"),
    ] {
        let refused = Program::within(&folder, command)
            .env("COMPANION_STORAGE__URL", url)
            .env("COMPANION_SECRETS__KEY", SECRETS_KEY)
            .env("COMPANION_MANAGEMENT__KEY", "the-management-key")
            .finish();
        assert_eq!(refused.code, Some(2), "{command:?}: {}", refused.err);
        assert!(refused.err.contains(said), "{}", refused.err);
    }
}

#[test]
fn audits_changes_made_without_a_request() {
    const OVER: &str = r#"{"kind":"session","id":"00000000000000000000000000000000000000000000000000000000000000aa","user":"7","created_at":1,"last_seen_at":1}"#;
    let folder = folder();
    let import = Program::within(&folder, &["import", "over.ndjson"]).file("over.ndjson", OVER);
    let imported = import.env("COMPANION_LOG__FORMAT", "json").finish();
    let expected = json!({
        "level": "INFO", "message": "audit", "action": "import", "outcome": "success", "by": "command_line",
        "added": 1, "changed": 0, "removed": 0, "target": "companion::audit",
    });
    assert_eq!(audited(&imported), [expected]);
    let mut service = serve(&folder).env("COMPANION_LOG__FORMAT", "json").start();
    service.management();
    while run(&folder, &["export"]).out.contains("session") {}
    let expected = json!({
        "level": "INFO", "message": "audit", "action": "expire_session", "outcome": "success", "by": "service",
        "user": "7", "session": "00000000", "added": 0, "changed": 0, "removed": 1, "target": "companion::audit",
    });
    assert_eq!(audited(&service.stop()), [expected]);
}

#[test]
fn storage_commands_create_no_database_and_no_files() {
    for command in [&["backup", "copy.db"][..], &["export"], &["why", "1", "2"], &["reseal"]] {
        let folder = folder();
        let refused = run(&folder, command);
        assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{command:?}");
        let path = folder.path().canonicalize().unwrap().join("companion.db");
        let told = format!("there is no database at {}", path.display());
        assert!(refused.err.contains(&told), "{command:?}: {}", refused.err);
        assert_eq!(names(folder.path()), Vec::<String>::new(), "{command:?}");

        fs::write(folder.path().join("companion.db"), "").unwrap();
        let empty = run(&folder, command);
        assert_eq!(empty.code, Some(1), "{command:?}");
        assert!(empty.err.contains(&told), "{command:?}: {}", empty.err);
        assert_eq!(names(folder.path()), ["companion.db"], "{command:?}");
        assert_eq!(fs::metadata(folder.path().join("companion.db")).unwrap().len(), 0, "{command:?}");
    }
}

#[test]
fn recreates_a_lost_database_beside_its_key_only_with_create() {
    let folder = folder();
    fs::write(folder.path().join("world.ndjson"), WORLD).unwrap();
    let mut service = serve(&folder).start();
    service.public();
    service.stop();
    remove_database(folder.path());
    let left = names(folder.path());
    assert_eq!(left, ["companion.db.key", "world.ndjson"]);

    for command in [&["serve"][..], &["migrate"], &["import", "world.ndjson"]] {
        let refused = run(&folder, command);
        assert_eq!(refused.code, Some(1), "{command:?}: {}", refused.err);
        for part in ["no database at ", "companion.db", "companion.db.key", "restore", "--create"] {
            assert!(refused.err.contains(part), "{command:?} does not say {part}: {}", refused.err);
        }
        assert_eq!(names(folder.path()), left, "{command:?}");
    }

    for command in [&["import", "world.ndjson", "--create"][..], &["migrate", "--create"]] {
        let created = run(&folder, command);
        assert_eq!(created.code, Some(0), "{command:?}: {}", created.err);
        remove_database(folder.path());
    }
    fs::set_permissions(folder.path().join("companion.db.key"), fs::Permissions::from_mode(0o644)).unwrap();
    let mut service = Program::within(&folder, &["serve", "--create"]).on_free_ports().start();
    let public = service.public();
    assert_eq!(http::get(&public, "/team", &[]).status, 200);
    let warned = service.stop().err;
    assert!(warned.contains("fix: chmod 600 companion.db.key"), "{warned}");
}
