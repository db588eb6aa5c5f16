//! Context of the handlers.

use actix_web::web::Bytes;
use async_trait::async_trait;
use companion_domain::{
    port::Clock,
    usecase::{
        ExplainGuild, Feed, ForgetUser, GuildSettings, ManageSessions, ShowUser, UseCases, WatchChanges,
    },
};
use companion_http::{ConcurrencyLimiter, MetricsSource};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The use cases of the management API.
#[derive(Clone)]
pub struct ManagementUseCases {
    /// Applies what the bot reports.
    pub feed: Arc<Feed>,
    /// Reads and changes settings of guilds.
    pub settings: Arc<GuildSettings>,
    /// Streams changes.
    pub watch_changes: Arc<WatchChanges>,
    /// Explains why a user sees a guild, or does not.
    pub explain: Arc<ExplainGuild>,
    /// Lists and ends sessions.
    pub sessions: Arc<ManageSessions>,
    /// Shows stored data of users.
    pub show_user: Arc<ShowUser>,
    /// Forgets users.
    pub forget: Arc<ForgetUser>,
}

impl From<&UseCases> for ManagementUseCases {
    fn from(all: &UseCases) -> Self {
        Self {
            feed: all.feed.clone(),
            settings: all.settings.clone(),
            watch_changes: all.watch_changes.clone(),
            explain: all.explain.clone(),
            sessions: all.sessions.clone(),
            show_user: all.show_user.clone(),
            forget: all.forget.clone(),
        }
    }
}

/// The readiness check of the service.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Returns `Ok` if the service is ready for traffic; the error is a short reason.
    async fn check(&self) -> Result<(), String>;
}

/// Context of the handlers.
#[derive(Clone)]
pub(crate) struct ManagementContext {
    pub(crate) use_cases: ManagementUseCases,
    pub(crate) readiness: Arc<dyn Readiness>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) body_limit: usize,
    pub(crate) metrics: Vec<Arc<dyn MetricsSource>>,
    /// Limits requests that wait for the store.
    pub(crate) storage_limiter: Arc<ConcurrencyLimiter>,
    /// One permit per open change stream.
    pub(crate) streams: Arc<Semaphore>,
    /// Renders the OpenAPI document.
    pub(crate) document: fn() -> Result<Bytes, &'static str>,
}
