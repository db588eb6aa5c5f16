//! The contract of [`Health`]. A failing store is covered by the adapter's own tests, which alone can make it fail.

use super::Fresh;
use companion_domain::port::Health;

suite! {
    /// Generates one test per behaviour of `Health`.
    health_conformance($): health, dyn Health;
    a_working_store_is_healthy_at_every_check,
}

async fn a_working_store_is_healthy_at_every_check(fresh: &Fresh<Port>) {
    fresh.concurrently(|_, health| async move { health.check().await.unwrap() }).await;
    fresh.one.check().await.unwrap();
}
