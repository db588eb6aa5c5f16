//! Files that are missing, damaged, or taken away from a running program.

use crate::{
    http,
    program::{Finished, Program, Running},
    stored::WORLD,
};
use std::{fs, path::Path, sync::Arc};
use tempfile::TempDir;

const KEY: (&str, &str) = ("Authorization", "Bearer the-key-of-these-tests");

fn folder() -> Arc<TempDir> {
    Arc::new(TempDir::new().unwrap())
}

fn run(folder: &Arc<TempDir>, arguments: &[&str]) -> Finished {
    Program::within(folder, arguments).finish()
}

fn serve(folder: &Arc<TempDir>, more: &[&str]) -> Program {
    Program::within(folder, &[&["serve"], more].concat())
        .env("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
        .env("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
        .env("COMPANION_MANAGEMENT__KEY", "the-key-of-these-tests")
}

fn stop(service: Running) -> Finished {
    service.signal("INT");
    let finished = service.finish();
    assert_eq!(finished.code, Some(0), "{}", finished.err);
    finished
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Takes the database away, as someone does who believes that it is in the way.
fn remove_database(folder: &Path) {
    for name in names(folder)
        .iter()
        .filter(|name| ["", "-wal", "-shm"].map(|end| format!("companion.db{end}")).contains(name))
    {
        fs::remove_file(folder.join(name)).unwrap();
    }
}

#[test]
fn commands_on_what_is_stored_make_no_database_and_leave_nothing_behind() {
    for command in [&["backup", "copy.db"][..], &["export"], &["why", "1", "2"], &["reseal"]] {
        let folder = folder();
        let refused = run(&folder, command);
        assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{command:?}");
        let path = folder.path().canonicalize().unwrap().join("companion.db");
        let told = format!("there is no database at {}", path.display());
        assert!(refused.err.contains(&told), "{command:?}: {}", refused.err);
        assert_eq!(names(folder.path()), Vec::<String>::new(), "{command:?}");

        let elsewhere =
            Program::within(&folder, command).env("COMPANION_STORAGE__URL", "sqlite:no/such.db").finish();
        assert_eq!(elsewhere.code, Some(1), "{command:?}");
        assert!(elsewhere.err.contains("there is no database at "), "{command:?}: {}", elsewhere.err);

        fs::write(folder.path().join("companion.db"), "").unwrap();
        let empty = run(&folder, command);
        assert_eq!(empty.code, Some(1), "{command:?}");
        assert!(empty.err.contains(&told), "{command:?}: {}", empty.err);
        assert_eq!(names(folder.path()), ["companion.db"], "{command:?}");
        assert_eq!(fs::metadata(folder.path().join("companion.db")).unwrap().len(), 0, "{command:?}");
    }
}

#[test]
fn a_database_that_is_gone_is_made_anew_beside_its_key_only_when_asked() {
    let folder = folder();
    fs::write(folder.path().join("world.ndjson"), WORLD).unwrap();
    let mut service = serve(&folder, &[]).start();
    service.public();
    stop(service);
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

    let imported = run(&folder, &["import", "world.ndjson", "--create"]);
    assert_eq!(imported.code, Some(0), "{}", imported.err);
    remove_database(folder.path());
    let migrated = run(&folder, &["migrate", "--create"]);
    assert_eq!(migrated.code, Some(0), "{}", migrated.err);
    remove_database(folder.path());
    let mut service = serve(&folder, &["--create"]).start();
    let public = service.public();
    assert_eq!(http::get(&public, "/team", &[]).status, 200);
    stop(service);
    // Once it is there nothing has to be asked for.
    let mut service = serve(&folder, &[]).start();
    service.public();
    stop(service);
}

#[test]
fn a_running_service_whose_database_is_deleted_acknowledges_nothing_more_and_says_so_once() {
    let folder = folder();
    let mut service = serve(&folder, &[]).start();
    let management = service.management();
    let block = |user: u64| http::ask(&management, "PUT", &format!("/bot/blocked/{user}"), &[KEY]);
    assert_eq!(block(1).status, 200);
    // A backup at the same time is no reason for alarm.
    assert_eq!(run(&folder, &["backup", "copy.db"]).code, Some(0));
    assert_eq!(block(2).status, 200);
    assert_eq!(http::get(&management, "/health/ready", &[]).status, 200);
    remove_database(folder.path());
    for user in 3..6 {
        let refused = block(user);
        assert_eq!((refused.status, &refused.body["data"]["error"]), (503, &"storage_unavailable".into()));
        assert_eq!(http::get(&management, "/health/ready", &[]).status, 503);
    }
    let log = stop(service).err;
    let errors: Vec<_> =
        log.lines().filter(|line| line.contains("deleted or replaced") && line.contains("ERROR")).collect();
    assert_eq!(errors.len(), 1, "{log}");
    assert!(errors[0].contains("companion.db"), "{}", errors[0]);
    assert_eq!(names(folder.path()), ["companion.db.key", "copy.db"]);
    // The way back: the backup, in its place.
    fs::rename(folder.path().join("copy.db"), folder.path().join("companion.db")).unwrap();
    let exported = run(&folder, &["export"]);
    assert_eq!(exported.out, "{\"kind\":\"blocked\",\"user\":\"1\"}\n", "{}", exported.err);
}

#[test]
fn a_backup_that_cannot_be_written_says_why() {
    let folder = folder();
    assert_eq!(run(&folder, &["migrate"]).code, Some(0));
    let refused = run(&folder, &["backup", "no/such/folder/copy.db"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.err.contains("no/such/folder/copy.db") && refused.err.contains("No such file or directory"),
        "{}",
        refused.err
    );
}

#[test]
fn a_damaged_key_file_is_named_with_what_to_do_about_it() {
    let folder = folder();
    assert_eq!(run(&folder, &["migrate"]).code, Some(0));
    for (name, content) in [
        ("companion.db.key", ""),
        ("companion.db.key", "bm90IGEga2V5\n"),
        ("companion.db.management-key", ""),
        ("companion.db.management-key", " \n"),
    ] {
        fs::write(folder.path().join(name), content).unwrap();
        let refused = run(&folder, &["serve"]);
        assert_eq!(refused.code, Some(1), "{name} {content:?}");
        for part in [name, "restore it", "delete it"] {
            assert!(refused.err.contains(part), "{name} {content:?} without {part}: {}", refused.err);
        }
        assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), content);
        fs::remove_file(folder.path().join(name)).unwrap();
    }
}

#[test]
fn sealing_again_makes_no_key() {
    let folder = folder();
    assert_eq!(run(&folder, &["migrate"]).code, Some(0));
    let refused = run(&folder, &["reseal"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.err.contains("companion.db.key") && refused.err.contains("secrets.key"),
        "{}",
        refused.err
    );
    // Whoever closes the database last takes its log away, so that may be there or not.
    assert!(!names(folder.path()).iter().any(|name| name.ends_with("key")));
}

#[cfg(unix)]
#[test]
fn files_that_others_can_read_are_warned_of_with_the_command_that_helps() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    let serve = || {
        Program::within(&folder, &["serve"])
            .env("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
            .env("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
            .start()
    };
    let mut service = serve();
    service.public();
    let log = stop(service).err;
    assert!(!log.contains("chmod"), "{log}");
    let files = ["companion.db", "companion.db.key", "companion.db.management-key"];
    for file in files {
        fs::set_permissions(folder.path().join(file), fs::Permissions::from_mode(0o644)).unwrap();
    }
    let mut service = serve();
    service.public();
    let log = stop(service).err;
    for file in files {
        assert!(log.contains(&format!("chmod 600 {file}\"")), "{file}: {log}");
    }
}
