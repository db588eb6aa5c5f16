//! The feed beside which something is kept outside behaves as the store's own, around itself too.

use crate::conformance::proof::with;
use async_trait::async_trait;
use companion_domain::{
    change::Kind,
    port::{FeedWithOutside, Outside, StoreError},
};
use std::sync::Arc;

/// Never changes.
struct Still;

#[async_trait]
impl Outside for Still {
    async fn version(&self) -> Result<u64, StoreError> {
        Ok(7)
    }
}

companion_testkit::change_feed_conformance! {
    with(|stores| {
        for kind in [Kind::Guild, Kind::Member] {
            stores.changes = Arc::new(FeedWithOutside::new(stores.changes.clone(), kind, Arc::new(Still)));
        }
    })
}
