//! axe, which knows the rules of accessible pages.

use crate::browser::page::{Page, write};
use serde_json::{Value, json};
use std::{fmt::Write as _, fs};

/// Where `cargo xtask test --install` puts it.
const AXE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/axe-core/node_modules/axe-core/axe.min.js");
/// The violations as lines, and the number of rules that passed. Made on the page, so that the elements of rules that passed
/// are neither collected nor sent.
const EXAMINE: &str = "axe.run(document, {resultTypes: ['violations']}).then(({violations, passes}) => [
    violations.map(one => `${one.id} (${one.impact}): ${one.nodes.map(node => node.target).join(', ')}`),
    passes.length])";

/// What axe found on pages.
pub(crate) struct Axe {
    table: String,
    broken: Vec<String>,
}

impl Axe {
    /// Brings axe to every document that the page loads from now on.
    pub(crate) fn on(page: &Page) -> Self {
        let source = fs::read_to_string(AXE).expect("axe is missing: cargo xtask test --install brings it");
        page.call("Page.addScriptToEvaluateOnNewDocument", &json!({"source": source}));
        let table = String::from("| page | screen | rules kept | broken |\n|---|---|---|---|\n");
        Self { table, broken: Vec::new() }
    }

    /// Examines the document that the page shows, as it is shown.
    pub(crate) fn examine(&mut self, page: &Page, path: &str, screen: &str) {
        let found = page.evaluate(EXAMINE);
        let violations = found[0].as_array().unwrap();
        // Without this, an axe that ran no rule at all would find nothing.
        assert!(found[1].as_u64().unwrap() > 0, "no rule passes on {path}");
        let _ = writeln!(self.table, "| `{path}` | {screen} | {} | {} |", found[1], violations.len());
        let line = |one: &Value| format!("{path} on {screen}: {}", one.as_str().unwrap());
        self.broken.extend(violations.iter().map(line));
    }

    /// Leaves the table for people to look at, and fails if a rule is broken.
    pub(crate) fn finish(self, report: &str) {
        write(report, self.table.as_bytes());
        assert!(self.broken.is_empty(), "{}", self.broken.join("\n"));
    }
}
