//! Creating, upgrading and rejecting schemas.

use super::Place;
use companion_domain::port::Health;
use companion_storage_diesel::OpenError;
use std::thread;

pub(crate) async fn lists_pending_migrations_without_creating_anything<P: Place>() {
    let place = P::new();
    let steps = place.pending().unwrap();
    assert!(steps.iter().any(|step| step == "0001_history"), "{steps:?}");
    assert!(place.is_empty());
    assert_eq!(place.migrate().unwrap(), steps);
    assert_eq!(place.pending().unwrap(), Vec::<String>::new());
    assert_eq!(place.migrate().unwrap(), Vec::<String>::new());
}

pub(crate) async fn one_of_several_concurrent_starts_migrates<P: Place + Sync>() {
    for _ in 0..P::STARTS {
        let place = P::new();
        let steps = place.pending().unwrap().len();
        let mut applied: Vec<_> = thread::scope(|scope| {
            let starting: Vec<_> = (0..8).map(|_| scope.spawn(|| place.migrate().unwrap().len())).collect();
            starting.into_iter().map(|start| start.join().unwrap()).collect()
        });
        applied.sort_unstable();
        assert_eq!(applied, [0, 0, 0, 0, 0, 0, 0, steps]);
    }
}

pub(crate) async fn rejects_a_database_of_a_newer_version<P: Place>() {
    let place = P::new();
    place.migrate().unwrap();
    place.run("INSERT INTO __diesel_schema_migrations (version) VALUES ('9999')");
    for refused in [place.pending().unwrap_err(), place.try_open().await.unwrap_err()] {
        assert!(matches!(&refused, OpenError::Newer { step, .. } if step == "9999"));
        let sentence = refused.to_string();
        assert!(sentence.contains("newer version") && sentence.contains("upgrade"), "{sentence}");
    }
}

pub(crate) async fn rejects_an_altered_schema_with_the_first_difference<P: Place>() {
    let alterations = [
        ("DROP TABLE spent_codes", "table spent_codes is missing"),
        ("DROP INDEX feedback_by_slot", "index feedback_by_slot is missing"),
        ("ALTER TABLE staff ADD COLUMN extra TEXT", "table staff differs from the migrations"),
        ("CREATE INDEX more ON staff (grants)", "index more is unexpected"),
        ("DELETE FROM __diesel_schema_migrations WHERE version = '0006'", "already exists"),
    ];
    for (alteration, expected) in alterations.iter().chain(P::ALTERATIONS) {
        let place = P::new();
        place.migrate().unwrap();
        place.run(alteration);
        let refused = place.try_open().await.unwrap_err();
        let sentence = refused.to_string();
        assert!(matches!(refused, OpenError::Altered { .. }), "{alteration}: {sentence}");
        assert!(sentence.contains(expected), "{alteration}: {sentence}");
        assert!(sentence.contains("restore a backup"), "{sentence}");
    }
}

pub(crate) async fn a_schema_change_fails_the_health_check<P: Place>() {
    let place = P::new();
    let storage = place.open().await;
    storage.check().await.unwrap();
    place.run("INSERT INTO __diesel_schema_migrations (version) VALUES ('9999')");
    storage.check().await.unwrap_err();
}
