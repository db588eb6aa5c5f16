//! How the program is called.

use crate::program::Program;
use std::{collections::BTreeSet, path::Path};

#[test]
fn the_version_has_name_version_branch_and_full_commit() {
    let finished = Program::new(&["--version"]).finish();
    assert_eq!(finished.code, Some(0));
    let line = finished.out.trim_end();
    let rest = line.strip_prefix(concat!("companion ", env!("CARGO_PKG_VERSION"), " (branch ")).unwrap();
    let (branch, commit) = rest.strip_suffix(')').unwrap().split_once(", commit ").unwrap();
    assert!(!branch.is_empty());
    assert!(
        commit == "unknown" || commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit()),
        "{line}"
    );
}

#[test]
fn wrong_usage_ends_with_2() {
    for arguments in [&[][..], &["sevre"], &["serve", "now"], &["config"], &["serve", "--config"]] {
        let finished = Program::new(arguments).finish();
        assert_eq!(finished.code, Some(2), "{arguments:?}");
        assert!(finished.out.is_empty() && !finished.err.is_empty(), "{arguments:?}");
    }
}

#[test]
fn help_ends_with_0_and_names_every_command() {
    let finished = Program::new(&["--help"]).finish();
    assert_eq!(finished.code, Some(0));
    for command in [
        "demo",
        "serve",
        "migrate",
        "import",
        "export",
        "backup",
        "sessions",
        "why",
        "config",
        "doctor",
        "openapi",
        "health",
        "completions",
    ] {
        assert!(finished.out.contains(&format!("\n  {command} ")), "{command}");
    }
}

/// Every command, those of `config` and `sessions` included.
const COMMANDS: [&str; 22] = [
    "demo",
    "serve",
    "migrate",
    "import",
    "export",
    "backup",
    "reseal",
    "sessions",
    "sessions list",
    "sessions revoke",
    "sessions revoke-all",
    "sessions prune",
    "why",
    "config",
    "config check",
    "config show",
    "config sample",
    "config schema",
    "doctor",
    "openapi",
    "health",
    "completions",
];

#[test]
fn the_help_of_every_command_has_an_example_that_begins_with_it() {
    for command in COMMANDS {
        let arguments: Vec<_> = command.split(' ').chain(["--help"]).collect();
        let finished = Program::new(&arguments).finish();
        assert_eq!(finished.code, Some(0), "{command}");
        let (_, examples) =
            finished.out.split_once("Examples:\n").unwrap_or_else(|| panic!("{command} has no examples"));
        assert!(examples.contains(&format!("companion {command}")), "{command}: {examples}");
    }
}

#[test]
fn the_openapi_document_has_both_apis() {
    let finished = Program::new(&["openapi"]).finish();
    assert_eq!(finished.code, Some(0));
    let document: serde_json::Value = serde_json::from_str(&finished.out).unwrap();
    let paths: BTreeSet<_> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    let some = BTreeSet::from(["/", "/auth", "/feedback", "/guilds", "/team", "/bot/sync", "/health/ready"]);
    assert!(paths.is_superset(&some), "{paths:?}");
}

#[test]
fn completions_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let finished = Program::new(&["completions", shell]).finish();
        assert_eq!(finished.code, Some(0), "{shell}");
        assert!(finished.out.contains("companion"), "{shell}");
    }
    assert_eq!(Program::new(&["completions", "abacus"]).finish().code, Some(2));
}

/// Options that take no value.
const FLAGS: [&str; 4] = ["--create", "--dry-run", "--json", "--yes"];

/// What stands behind `companion` in the documentation's commands, with its options.
fn documented_commands() -> BTreeSet<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = root.join("docs").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let mut commands = BTreeSet::new();
    for page in pages.chain([root.join("README.md")]) {
        let text = std::fs::read_to_string(page).unwrap();
        let pieces = text.split(['`', '\n', '|', '>', '&']).map(str::trim_start);
        for piece in pieces.filter_map(|piece| piece.rsplit_once("companion ").map(|(_, command)| command)) {
            let words = piece.split_whitespace().map(str::to_owned);
            let plain = |word: &String| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
            let mut command: Vec<_> = words.take_while(plain).collect();
            let takes_a_value =
                |option: &String| option.starts_with("--") && !FLAGS.contains(&option.as_str());
            if command.last().is_some_and(takes_a_value) {
                command.push("1".to_owned());
            }
            commands.insert(command);
        }
    }
    commands
}

#[test]
fn every_command_of_the_documentation_exists() {
    let known = [
        "demo", "serve", "migrate", "import", "export", "backup", "reseal", "sessions", "why", "config",
        "doctor",
    ];
    let commands = documented_commands();
    let ours = commands
        .iter()
        .filter(|command| command.first().is_some_and(|first| known.contains(&first.as_str())));
    let mut asked = 0;
    for command in ours {
        let arguments: Vec<_> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let finished = Program::new(&arguments).finish();
        assert_eq!(finished.code, Some(0), "{command:?}: {}", finished.err);
        asked += 1;
    }
    assert!(asked >= known.len(), "{commands:?}");
}
