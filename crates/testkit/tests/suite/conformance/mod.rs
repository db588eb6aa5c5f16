//! The suites are proven: each of these wrong adapters is the one in memory with a single fault, and a named behaviour
//! must catch it. A suite that lets one pass is the defect.

mod fed;
mod feeds_and_listings;
mod grants;
mod history;
mod hooked;
mod identity;
mod lagging;
mod marks;
mod plain;
mod proof;
mod sessions;
mod settings;
mod shown;
mod world;

use companion_testkit::{
    conformance::Fresh, entropy::SeededEntropy, scheduler::TestScheduler, vault::TestVault,
};
use proof::Proof;
use std::{collections::HashSet, sync::Arc};

companion_testkit::entropy_conformance! {
    Fresh::new(Arc::new(SeededEntropy::new(1)))
}

companion_testkit::scheduler_conformance! {
    Fresh::new(Arc::new(TestScheduler::default()))
}

companion_testkit::vault_conformance! {
    Fresh::new(Arc::new(TestVault::default()))
}

/// Declares a test for each group of wrong adapters, and a function that returns all proofs.
macro_rules! proven {
    ($($group:ident: $module:ident::$proofs:ident;)+) => {
        fn all_proofs() -> Vec<Proof> {
            [$($module::$proofs as fn() -> Vec<Proof>),+].into_iter().flat_map(|proofs| proofs()).collect()
        }

        mod every_wrong_adapter_is_caught {
            $(#[test]
            fn $group() {
                super::assert_caught(&super::$module::$proofs());
            })+
        }
    };
}

proven! {
    fed: fed::proofs;
    grants: grants::proofs;
    history: history::proofs;
    hooked: hooked::proofs;
    identity: identity::proofs;
    lagging: lagging::proofs;
    codes: marks::code_proofs;
    pauses: marks::pause_proofs;
    plain: plain::proofs;
    sessions: sessions::proofs;
    settings: settings::proofs;
    shown: shown::proofs;
    feeds: feeds_and_listings::feed_proofs;
    listings: feeds_and_listings::listing_proofs;
    sign_ins: feeds_and_listings::sign_in_proofs;
    world: world::proofs;
}

/// Asserts that each behaviour fails on its wrong adapter. That it passes on a sound one is tested beside each adapter.
fn assert_caught(proofs: &[Proof]) {
    let missed: Vec<_> = proofs.iter().filter(|proof| !(proof.is_caught)()).map(Proof::to_string).collect();
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}

#[test]
fn every_suite_is_proven_by_a_wrong_adapter() {
    let proven: HashSet<_> = all_proofs().iter().map(|proof| proof.suite).collect();
    let modules = include_str!("../../../src/conformance/mod.rs").lines();
    let suites = modules.filter_map(|line| line.strip_prefix("pub mod ")?.split([';', ' ']).next());
    for suite in suites.filter(|module| !["prepared", "stream"].contains(module)) {
        assert!(proven.contains(suite), "no wrong adapter proves {suite}");
    }
}

/// The snapshot that lists them, as it should be.
fn snapshot() -> String {
    let mut list = String::from(
        "# Wrong adapters\n\nEach is the in-memory adapter with one fault, and the behaviour that catches it.\n\
         `COMPANION_WRITE_SNAPSHOT=1 cargo nextest run -p companion-testkit conformance` writes this file.\n",
    );
    let mut proofs = all_proofs();
    proofs.sort_by_key(|proof| proof.suite);
    for suite in proofs.chunk_by(|one, two| one.suite == two.suite) {
        let name = suite.first().map_or("", |proof| proof.suite);
        list.push_str(&format!("\n## `{name}`: {}\n\n| fault | noticed by |\n|---|---|\n", suite.len()));
        for proof in suite {
            list.push_str(&format!("| {} | `{}` |\n", proof.fault, proof.behaviour));
        }
    }
    list
}

/// A fault that is dropped, or caught by another behaviour, shows in the diff of the snapshot.
#[test]
fn the_snapshot_lists_every_wrong_adapter() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/conformance/wrong-adapters.md");
    if std::env::var_os("COMPANION_WRITE_SNAPSHOT").is_some() {
        std::fs::write(file, snapshot()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), snapshot(), "{file} is not up to date");
}
