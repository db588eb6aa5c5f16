//! The contract of [`Health`]. A failing store is covered by the adapter's own tests, which alone can make it fail.

use super::Fresh;
use companion_domain::port::Health;

suite! {
    /// Generates one test per behaviour of `Health`.
    health_conformance($): health, dyn Health;
    a_store_that_works_is_fit,
    asking_changes_nothing_about_the_answer,
    callers_at_once_all_get_an_answer,
}

async fn a_store_that_works_is_fit(fresh: &Fresh<Port>) {
    fresh.one.check().await.unwrap();
    fresh.other.check().await.unwrap();
}

async fn asking_changes_nothing_about_the_answer(fresh: &Fresh<Port>) {
    for _ in 0..20 {
        fresh.one.check().await.unwrap();
    }
}

async fn callers_at_once_all_get_an_answer(fresh: &Fresh<Port>) {
    fresh.concurrently(|_, health| async move { health.check().await.unwrap() }).await;
}
