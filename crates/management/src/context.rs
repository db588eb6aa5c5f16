//! Context of the handlers.

use async_trait::async_trait;
use companion_domain::{port::Clock, usecase::UseCases};
use companion_http::{ConcurrencyLimiter, MetricsSource};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The readiness check of the service.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Returns `Ok` if the service is ready for traffic; the error is a short reason.
    async fn check(&self) -> Result<(), String>;
}

/// Context of the handlers.
#[derive(Clone)]
pub(crate) struct ManagementContext {
    pub(crate) use_cases: UseCases,
    pub(crate) readiness: Arc<dyn Readiness>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) body_limit: usize,
    pub(crate) metrics: Vec<Arc<dyn MetricsSource>>,
    /// Limits requests that wait for the store.
    pub(crate) storage_limiter: Arc<ConcurrencyLimiter>,
    /// One permit per open change stream.
    pub(crate) streams: Arc<Semaphore>,
}
