//! axe, which knows the rules of accessible pages, has nothing serious to say.

use crate::browser::{
    page::{Page, Screen, write},
    stage::Stage,
};
use serde_json::Value;
use std::{fmt::Write as _, fs};

/// Where `cargo xtask test --install` puts it.
const AXE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/axe-core/node_modules/axe-core/axe.min.js");

/// What it found, as lines, and how many of its rules were kept.
fn examine(page: &Page) -> (Vec<String>, usize) {
    let found = page.evaluate("axe.run(document, {resultTypes: ['violations', 'passes']})");
    let line = |one: &Value| {
        let targets: Vec<_> =
            one["nodes"].as_array().unwrap().iter().map(|node| node["target"].to_string()).collect();
        format!("{} ({}): {}", one["id"], one["impact"], targets.join(", "))
    };
    let violations = found["violations"].as_array().unwrap().iter().map(line).collect();
    (violations, found["passes"].as_array().unwrap().len())
}

/// Each layout once, and each colour scheme.
const SCREENS: [(Screen, &str); 2] = [(Screen::Phone, "light"), (Screen::Desktop, "dark")];

fn assert_accessible(stage: &Stage, page: &Page, paths: &[&str], report: &str) {
    let axe = fs::read_to_string(AXE).expect("axe is missing: cargo xtask test --install brings it");
    let mut table = String::from("| page | screen | rules kept | broken |\n|---|---|---|---|\n");
    let mut broken = Vec::new();
    for path in paths {
        // Loaded once. It is laid out and coloured anew for each screen.
        page.go(&stage.at(path));
        page.evaluate(&format!("{axe};0"));
        for (screen, scheme) in SCREENS {
            page.on(screen);
            page.prefer(scheme);
            let (violations, passes) = examine(page);
            let _ = writeln!(table, "| `{path}` | {screen:?}, {scheme} | {passes} | {} |", violations.len());
            broken
                .extend(violations.into_iter().map(|line| format!("{path} on {screen:?}, {scheme}: {line}")));
        }
    }
    write(report, table.as_bytes());
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn axe_finds_nothing_on_pages_for_everyone() {
    let stage = Stage::new();
    assert_accessible(&stage, &stage.page(), &["/", "/team", "/status", "/nowhere"], "axe.md");
}

#[test]
fn axe_finds_nothing_on_pages_of_a_user() {
    let stage = Stage::new();
    let paths = ["/", "/guilds", "/guilds/190000000000000500", "/devices", "/my-data", "/my-data/forget"];
    assert_accessible(&stage, &stage.signed_in("Night Owl"), &paths, "axe-signed-in.md");
}
