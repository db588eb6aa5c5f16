//! A store that pauses after everything it does and before its caller hears of it, so that others can come in between.

use crate::every_order::step;
use async_trait::async_trait;
use companion_domain::{
    change::Revision,
    port::{ChangeFeed, Listings, Records, SessionStore, StoreError, Stores},
};
use companion_testkit::over::{ChangeFeedOver, ListingsOver, Over, RecordsOver, SessionStoreOver};
use std::sync::Arc;

/// A port with pauses.
struct Stepped<P: ?Sized>(Arc<P>);

/// These stores with pauses in everything that copies are made from or told by.
pub(crate) fn stepped(stores: &Stores) -> Stores {
    let mut stepped = stores.clone();
    stepped.changes = Arc::new(Over(Stepped(stores.changes.clone())));
    stepped.records = Arc::new(Over(Stepped(stores.records.clone())));
    stepped.sessions = Arc::new(Over(Stepped(stores.sessions.clone())));
    stepped.stored_listings = Arc::new(Over(Stepped(stores.stored_listings.clone())));
    stepped
}

macro_rules! stepped {
    ($($over:ident by $inner:ident: $port:ident { $($more:tt)* })+) => {$(
        #[async_trait]
        impl $over for Stepped<dyn $port> {
            fn $inner(&self) -> &dyn $port {
                &*self.0
            }

            async fn after(&self) {
                step().await;
            }

            $($more)*
        }
    )+};
}

stepped! {
    ChangeFeedOver by changes: ChangeFeed {
        async fn latest(&self) -> Result<Revision, StoreError> {
            self.0.latest().await
        }
    }
    ListingsOver by listings: Listings {}
    RecordsOver by records: Records {}
    SessionStoreOver by sessions: SessionStore {}
}
