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
