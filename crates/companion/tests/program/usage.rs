//! How the program is called.

use crate::program::Program;
use std::collections::BTreeSet;

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
        "why",
        "config",
        "openapi",
        "health",
        "completions",
    ] {
        assert!(finished.out.contains(&format!("\n  {command} ")), "{command}");
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
