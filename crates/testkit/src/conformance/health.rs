//! The contract of [`Health`]. A failing store is covered by the adapter's own tests, which alone can make it fail.

use super::Fresh;
use companion_domain::port::Health;

suite! {
    /// Generates one test per behaviour of `Health`.
    health_conformance($): health, dyn Health;
    a_working_store_is_healthy,
    repeated_checks_return_the_same_result,
    concurrent_checks_all_return,
}

async fn a_working_store_is_healthy(fresh: &Fresh<Port>) {
    fresh.one.check().await.unwrap();
    fresh.other.check().await.unwrap();
}

async fn repeated_checks_return_the_same_result(fresh: &Fresh<Port>) {
    for _ in 0..20 {
        fresh.one.check().await.unwrap();
    }
}

async fn concurrent_checks_all_return(fresh: &Fresh<Port>) {
    fresh.concurrently(|_, health| async move { health.check().await.unwrap() }).await;
}
