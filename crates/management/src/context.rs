//! What handlers work with.

use actix_web::web::Bytes;
use async_trait::async_trait;
use companion_domain::{
    port::Clock,
    usecase::{ExplainGuild, Feed, ForgetUser, ManageSessions, ShowUser, UseCases, WatchChanges},
};
use companion_http::{Gate, MetricsSource};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What the management API does.
#[derive(Clone)]
pub struct ManagementUseCases {
    /// Takes in what the bot reports.
    pub feed: Arc<Feed>,
    /// Tells of changes as they come.
    pub watch_changes: Arc<WatchChanges>,
    /// Explains what a user is shown of a guild.
    pub explain: Arc<ExplainGuild>,
    /// Lists and ends sessions.
    pub sessions: Arc<ManageSessions>,
    /// Shows what is stored about users.
    pub show_user: Arc<ShowUser>,
    /// Forgets users.
    pub forget: Arc<ForgetUser>,
}

impl From<&UseCases> for ManagementUseCases {
    fn from(all: &UseCases) -> Self {
        Self {
            feed: all.feed.clone(),
            watch_changes: all.watch_changes.clone(),
            explain: all.explain.clone(),
            sessions: all.sessions.clone(),
            show_user: all.show_user.clone(),
            forget: all.forget.clone(),
        }
    }
}

/// Knows whether traffic should come here.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Returns when the service is ready; the error says in a few words what is missing.
    async fn check(&self) -> Result<(), String>;
}

/// The use cases, and what else the handlers need to know.
#[derive(Clone)]
pub(crate) struct ManagementContext {
    pub(crate) use_cases: ManagementUseCases,
    pub(crate) readiness: Arc<dyn Readiness>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) body_limit: usize,
    pub(crate) metrics: Vec<Arc<dyn MetricsSource>>,
    /// The way to storage.
    pub(crate) gate: Arc<Gate>,
    /// Places for those who listen.
    pub(crate) streams: Arc<Semaphore>,
    /// Gives the OpenAPI document.
    pub(crate) document: fn() -> Result<Bytes, &'static str>,
}
