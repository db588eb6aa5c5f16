//! The readiness probe.

use async_trait::async_trait;
use companion_domain::{port::Health, usecase::ChangeDispatcher};
use companion_management::Readiness;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Ready if all listeners accept, the store answers and its last write succeeded, and all projections are loaded. Not
/// ready once the service stops.
pub(super) struct ServiceReadiness {
    health: Arc<dyn Health>,
    dispatcher: Arc<ChangeDispatcher>,
    open: AtomicBool,
}

impl ServiceReadiness {
    pub(super) const fn new(health: Arc<dyn Health>, dispatcher: Arc<ChangeDispatcher>) -> Self {
        Self { health, dispatcher, open: AtomicBool::new(false) }
    }

    /// Marks the service as ready, once all listeners accept.
    pub(super) fn open(&self) {
        self.open.store(true, Ordering::Release);
    }

    /// Marks the service as not ready, because it is stopping.
    pub(super) fn close(&self) {
        self.open.store(false, Ordering::Release);
    }
}

#[async_trait]
impl Readiness for ServiceReadiness {
    async fn check(&self) -> Result<(), String> {
        if !self.open.load(Ordering::Acquire) {
            return Err("starting or stopping".to_owned());
        }
        if !self.dispatcher.is_loaded() {
            return Err("the public data is not loaded".to_owned());
        }
        self.health.check().await.map_err(|error| format!("{error}: {}", error.cause))
    }
}
