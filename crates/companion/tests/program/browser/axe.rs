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

#[test]
fn axe_has_nothing_to_say_about_any_page() {
    let axe = fs::read_to_string(AXE).expect("axe is missing: cargo xtask test --install brings it");
    let stage = Stage::new();
    let (guest, signed_in) = (stage.page(), stage.signed_in("Night Owl"));
    let mut report = String::from("| page | screen | rules kept | broken |\n|---|---|---|---|\n");
    let mut broken = Vec::new();
    for (page, path) in [
        (&guest, "/"),
        (&guest, "/team"),
        (&guest, "/status"),
        (&guest, "/nowhere"),
        (&signed_in, "/"),
        (&signed_in, "/guilds"),
        (&signed_in, "/guilds/190000000000000500"),
        (&signed_in, "/devices"),
        (&signed_in, "/my-data"),
        (&signed_in, "/my-data/forget"),
    ] {
        // Loaded once. It is laid out and coloured anew for each screen.
        page.go(&stage.at(path));
        page.evaluate(&format!("{axe};0"));
        for (screen, scheme) in
            [(Screen::Phone, "light"), (Screen::Desktop, "dark"), (Screen::Desktop, "light")]
        {
            page.on(screen);
            page.prefer(scheme);
            let (violations, passes) = examine(page);
            let _ = writeln!(report, "| `{path}` | {screen:?}, {scheme} | {passes} | {} |", violations.len());
            broken
                .extend(violations.into_iter().map(|line| format!("{path} on {screen:?}, {scheme}: {line}")));
        }
    }
    write("axe.md", report.as_bytes());
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
