//! What the edge needs to know.

use super::{error_pages::ErrorPages, ready::ReadyAnswers, slow::SlowKind};
use crate::{error::FailureKind, guard::Drain, metrics::RequestMetrics, origin::Origin, repeated::Repeats};
use companion_domain::port::{Clock, Entropy};
use std::sync::Arc;

/// What the edge of one listener is made with.
pub(crate) struct EdgeSettings {
    pub(crate) allowed_origins: Vec<Origin>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    /// Whether each request is worth a line in the log.
    pub(crate) access_log: bool,
    /// Whether the listener speaks TLS itself.
    pub(crate) tls: bool,
    pub(crate) metrics: Arc<RequestMetrics>,
    /// The largest body that is read for no other reason than to go on after it, in bytes.
    pub(crate) body_limit: usize,
    /// What went wrong on our side lately.
    pub(crate) failures: Arc<Repeats<FailureKind>>,
    /// What took long lately.
    pub(crate) slow: Arc<Repeats<SlowKind>>,
    /// How the listener comes to its end.
    pub(crate) drain: Drain,
}

/// The outermost layer of an application.
#[derive(Clone)]
pub struct Edge {
    pub(crate) settings: Arc<EdgeSettings>,
    pub(crate) ready: Option<Arc<dyn ReadyAnswers>>,
    pub(crate) error_pages: Option<Arc<dyn ErrorPages>>,
}
