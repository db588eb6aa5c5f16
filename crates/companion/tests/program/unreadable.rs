//! Stored rows that cannot be read any more, under a program that goes on.

use crate::{
    http, metrics,
    program::{Finished, Program},
    stage::until,
    stored::WORLD,
};
use companion_storage_diesel::{DieselStorage, SqliteOptions};
use std::{fs, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::runtime::Runtime;

const KEY: (&str, &str) = ("Authorization", "Bearer the-key-of-these-tests");

/// A picture whose address was accepted once.
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

fn run(folder: &Arc<TempDir>, arguments: &[&str]) -> Finished {
    Program::within(folder, arguments).finish()
}

#[test]
fn one_such_row_stops_neither_the_start_nor_the_feed_nor_an_export() {
    let folder = Arc::new(TempDir::new().unwrap());
    fs::write(folder.path().join("world.ndjson"), WORLD).unwrap();
    assert_eq!(run(&folder, &["import", "world.ndjson"]).code, Some(0));
    run_statements(&folder, OLD_PICTURE);
    let mut service = Program::within(&folder, &["serve"])
        .env("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
        .env("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
        .env("COMPANION_MANAGEMENT__KEY", "the-key-of-these-tests")
        .start();
    let (public, management) = (service.public(), service.management());
    let shown = |path: &str| {
        let answer = http::get(&public, path, &[]);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body["data"].as_array().unwrap().len()
    };
    assert_eq!((shown("/team"), shown("/feedback")), (0, 0));

    let newcomer = WORLD.lines().find(|line| line.contains("\"team\"")).unwrap().replace("\"7\"", "\"8\"");
    let fed = http::send(&management, "POST", "/bot/sync", &[KEY], &newcomer).unwrap();
    assert_eq!(fed.status, 200, "{}", fed.body);
    assert_eq!(shown("/team"), 1);

    let exported = run(&folder, &["export"]);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    assert_eq!(exported.out.lines().count(), WORLD.lines().count() - 1);
    assert_eq!(
        exported.err,
        "8 records exported\n2 stored rows could not be read and were left out: feedback 1, team 1\n"
    );

    let world = http::send(&management, "POST", "/bot/sync", &[KEY], &feed_of(WORLD)).unwrap();
    assert_eq!((world.status, &world.body["data"]["changed"]), (200, &2.into()), "{}", world.body);
    assert_eq!((shown("/team"), shown("/feedback")), (2, 1));
    assert!(run(&folder, &["export"]).err.ends_with("10 records exported\n"));

    let counted = metrics::page(&management, KEY.1.trim_start_matches("Bearer "));
    for (table, least) in [("team", 2.0), ("feedback", 1.0)] {
        let sample = format!("companion_storage_unreadable_rows_total{{table=\"{table}\"}}");
        assert!(metrics::value(&counted, &sample) >= least, "{counted}");
    }
    service.signal("INT");
    let log = service.finish().err;
    let told: Vec<_> = log.lines().filter(|line| line.contains("cannot be read")).collect();
    assert_eq!(told.len(), 2, "{log}");
    assert!(told.iter().all(|line| !line.contains("user@cdn")), "{log}");
}

/// Without what only an import brings.
fn feed_of(world: &str) -> String {
    let lines = world.lines().filter(|line| !line.contains("\"session\"") && !line.contains("\"grant\""));
    lines.map(|line| format!("{line}\n")).collect()
}
