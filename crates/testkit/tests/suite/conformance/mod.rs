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
    conformance::{Fresh, Gate, SUITES, grant_store, not_looked_at},
    entropy::SeededEntropy,
    scheduler::TestScheduler,
    vault::TestVault,
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

/// Declares two tests for each group of wrong adapters, and a function that returns all proofs.
macro_rules! proven {
    ($($group:ident: $module:ident::$proofs:ident;)+) => {
        fn all_proofs() -> Vec<Proof> {
            [$($module::$proofs as fn() -> Vec<Proof>),+].into_iter().flat_map(|proofs| proofs()).collect()
        }

        mod proven {
            $(mod $group {
                use crate::conformance;

                #[test]
                fn every_wrong_adapter_is_caught_by_its_behaviour() {
                    let (report, missed) = conformance::check_wrong_adapters(&conformance::$module::$proofs());
                    println!("{report}");
                    assert!(missed.is_empty(), "not caught: {missed:#?}");
                }

                #[test]
                fn no_sound_adapter_is_caught() {
                    conformance::assert_sound_adapters_pass(&conformance::$module::$proofs());
                }
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
    feedback: shown::feedback_proofs;
    team: shown::team_proofs;
    telemetry: shown::telemetry_proofs;
    feeds: feeds_and_listings::feed_proofs;
    listings: feeds_and_listings::listing_proofs;
    sign_ins: feeds_and_listings::sign_in_proofs;
    world: world::proofs;
}

/// Returns what each behaviour reports about its wrong adapter, and the adapters that were not caught.
fn check_wrong_adapters(proofs: &[Proof]) -> (String, Vec<String>) {
    let mut report = format!("{} wrong adapters", proofs.len());
    let mut missed = Vec::new();
    for proof in proofs {
        match proof.on_the_wrong_adapter() {
            Err(complaint) => report.push_str(&format!("\n{proof}\n    {complaint}")),
            Ok(()) => missed.push(proof.to_string()),
        }
    }
    (report, missed)
}

/// A behaviour that complains about everything catches nothing.
fn assert_sound_adapters_pass(proofs: &[Proof]) {
    let mut checked = HashSet::new();
    for proof in proofs {
        if checked.insert((proof.suite, proof.behaviour)) {
            assert_eq!(proof.on_the_sound_adapter(), Ok(()), "{proof} fails on a sound adapter");
        }
    }
}

#[test]
fn every_suite_is_proven_by_a_wrong_adapter() {
    let proven: HashSet<_> = all_proofs().iter().map(|proof| proof.suite).collect();
    for suite in SUITES {
        assert!(proven.contains(suite), "no wrong adapter proves {suite}");
    }
}

#[test]
fn behaviours_that_do_not_look_for_want_of_a_hook_are_named() {
    let told = |fresh| not_looked_at("grant_store", grant_store::SUITE, &fresh);
    let bare = || Fresh::<grant_store::Port>::new(proof::memory());
    let gated = || bare().gating(|| std::future::ready(Box::new(()) as Gate));
    let all = grant_store::SUITE.len();
    let damage = "an_unreadable_grant_is_corrupt_and_can_be_replaced (no `.damaging`)";
    let gate = "a_write_does_not_block_the_polling_thread (no `.gating`)";
    let line = |count, blind| Some(format!("grant_store: {count} of {all} behaviours did not look: {blind}"));
    assert_eq!(told(bare()), line(2, format!("{gate}, {damage}")));
    assert_eq!(told(gated()), line(1, damage.to_owned()));
    assert_eq!(told(gated().damaging(|_| std::future::ready(false))), None);
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
