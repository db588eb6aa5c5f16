//! Runs the commands of the backup unit, with the program and the configuration of the test.

use super::text;
use crate::program::Program;
use std::{fs, path::Path, process::Command, sync::Arc};
use tempfile::TempDir;

/// Returns the values of a directive.
fn values<'a>(unit: &'a str, name: &str) -> Vec<&'a str> {
    unit.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('=')).collect()
}

/// Runs a unit as systemd does: `ExecStartPost=` only if `ExecStart=` succeeded. Returns whether both succeeded.
fn run(unit: &str, folder: &Path) -> bool {
    let commands = ["ExecStart", "ExecStartPost"].map(|name| {
        let [command] = values(unit, name).try_into().unwrap();
        command
            .replace("$$", "$")
            .replace("%%", "%")
            .replace("/usr/local/bin/companion", env!("CARGO_BIN_EXE_companion"))
            .replace("/etc/companion/companion.toml", "companion.toml")
    });
    let environment = values(unit, "Environment").into_iter().map(|entry| entry.split_once('=').unwrap());
    commands.iter().all(|command| {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(folder).envs(environment.clone());
        shell.env_remove("COMPANION_STORAGE__URL").output().unwrap().status.success()
    })
}

fn backups(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("backups")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_backup_unit_keeps_the_newest_backups() {
    let unit = text("docs/deploy/systemd/companion-backup.service");
    let folder = Arc::new(TempDir::new().unwrap());
    fs::write(folder.path().join("companion.toml"), "[storage]\nurl = \"sqlite:companion.db\"\n").unwrap();
    fs::create_dir(folder.path().join("backups")).unwrap();
    let old = |day: u8| format!("companion-202001{day:02}T030000Z.db");
    for name in (1..=20).map(old).chain(["companion-before-the-upgrade.db".to_owned()]) {
        fs::write(folder.path().join("backups").join(name), "").unwrap();
    }
    let before = backups(folder.path());
    assert!(!run(&unit, folder.path()), "there is no database");
    assert_eq!(backups(folder.path()), before, "a failed backup deletes nothing");

    assert_eq!(Program::run(&folder, &["migrate"]).code, Some(0));
    assert!(run(&unit, folder.path()));
    let mut kept = backups(folder.path());
    assert_eq!(kept.pop().unwrap(), "companion-before-the-upgrade.db");
    let new = kept.pop().unwrap();
    assert_eq!(kept, (8..=20).map(old).collect::<Vec<_>>());
    assert!(new.starts_with("companion-20") && new.ends_with("Z.db"), "{new}");
    let restored = format!("sqlite:backups/{new}");
    let export = Program::within(&folder, &["export"]).env("COMPANION_STORAGE__URL", &restored).finish();
    assert_eq!(export.code, Some(0), "{}", export.err);
}

/// Both units must run as the same user in the same folder with the same configuration.
#[test]
fn the_backup_unit_reads_the_database_of_the_service() {
    let [backup, service] =
        ["companion-backup", "companion"].map(|name| text(&format!("docs/deploy/systemd/{name}.service")));
    for name in ["User", "Group", "WorkingDirectory", "StateDirectoryMode", "UMask"] {
        assert_eq!(values(&backup, name), values(&service, name), "{name}");
    }
    for part in ["/usr/local/bin/companion ", " --config /etc/companion/companion.toml"] {
        let has_part = |unit: &str| values(unit, "ExecStart").iter().any(|command| command.contains(part));
        assert!(has_part(&backup) && has_part(&service), "{part}");
    }
}
