//! A store that works until it is told not to.

use crate::over::{
    BlockListOver, BotTelemetryOver, FeedbackStoreOver, ListingsOver, Over, RecordsOver, SessionStoreOver,
    SignInsOver, SpentCodesOver, TeamRosterOver,
};
use async_trait::async_trait;
use companion_domain::port::{
    BlockList, BotTelemetry, FeedbackStore, Listings, Records, SessionStore, SignIns, SpentCodes, StoreError,
    StoreErrorKind, Stores, TeamRoster,
};
use companion_storage_memory::MemoryStorage;
use std::sync::{Arc, Mutex};

/// What is wrong with the store.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// It answers with an error of this kind.
    Fails(StoreErrorKind),
    /// It never answers.
    Hangs,
    /// It panics.
    Panics,
}

pub struct Faulty {
    inner: Arc<MemoryStorage>,
    fault: Mutex<Option<Fault>>,
}

impl Faulty {
    pub fn over(inner: Arc<MemoryStorage>) -> Self {
        Self { inner, fault: Mutex::default() }
    }

    /// Breaks the store in this way, or mends it.
    pub fn set(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault;
    }

    /// Puts it in the place of these ports.
    pub fn put_into(self: &Arc<Self>, stores: &mut Stores) {
        let over = Arc::new(Over(Arc::clone(self)));
        stores.blocked = over.clone();
        stores.feedback = over.clone();
        stores.records = over.clone();
        stores.sessions = over.clone();
        stores.sign_ins = over.clone();
        stores.spent_codes = over.clone();
        stores.stored_listings = over.clone();
        stores.team = over.clone();
        stores.telemetry = over;
    }

    async fn working(&self) -> Result<(), StoreError> {
        let fault = *self.fault.lock().unwrap();
        match fault {
            None => Ok(()),
            Some(Fault::Fails(kind)) => Err(StoreError::new(kind, "told to fail")),
            Some(Fault::Hangs) => std::future::pending().await,
            Some(Fault::Panics) => panic!("told to panic"),
        }
    }
}

macro_rules! failing {
    ($($over:ident by $inner:ident: $port:ident;)+) => {$(
        #[async_trait]
        impl $over for Faulty {
            fn $inner(&self) -> &dyn $port {
                &*self.inner
            }

            async fn before(&self) -> Result<(), StoreError> {
                self.working().await
            }
        }
    )+};
}

failing! {
    BlockListOver by blocked: BlockList;
    BotTelemetryOver by telemetry: BotTelemetry;
    FeedbackStoreOver by feedback: FeedbackStore;
    SessionStoreOver by sessions: SessionStore;
    ListingsOver by listings: Listings;
    RecordsOver by records: Records;
    SignInsOver by sign_ins: SignIns;
    SpentCodesOver by spent_codes: SpentCodes;
    TeamRosterOver by team: TeamRoster;
}
