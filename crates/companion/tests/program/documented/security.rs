//! `docs/security.md` names tests. They exist.

use super::page::{files, root, text};
use std::{collections::BTreeSet, fs};

/// The names of functions in the sources.
fn functions() -> BTreeSet<String> {
    let sources = [root().join("crates"), root().join("tests")];
    let sources =
        sources.iter().flat_map(|folder| files(folder, ".rs")).map(|file| fs::read_to_string(file).unwrap());
    let names = |source: String| -> Vec<String> {
        let after = source.split("fn ").skip(1);
        after.filter_map(|rest| rest.split(['(', '<']).next()).map(str::to_owned).collect()
    };
    sources.flat_map(names).collect()
}

#[test]
fn every_test_that_the_page_on_security_names_exists() {
    let (functions, page) = (functions(), text("docs/security.md"));
    let is_name = |word: &&str| {
        word.matches('_').count() >= 3
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let named: Vec<_> = page.split('`').skip(1).step_by(2).filter(is_name).collect();
    assert!(named.len() > 60, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|name| !functions.contains(**name)).collect();
    assert!(missing.is_empty(), "docs/security.md names tests that do not exist: {missing:?}");
}
