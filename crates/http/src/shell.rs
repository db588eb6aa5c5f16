//! Wraps an API in what all APIs share: the edge, the audit trail, metrics and connection limits.

use crate::{
    audit::Refusals,
    edge::{Edge, EdgeState, ErrorPages, ReadyResponses, ShellSettings},
    guard::{ConnectionLimiter, Drain, Stage},
    metrics::{MetricsSource, MetricsText, RequestMetrics},
    repeated::Repeats,
    routing::{Resource, Router},
};
use actix_web::{
    Error,
    body::BoxBody,
    dev::{ServiceFactory, ServiceRequest, ServiceResponse},
    web::ServiceConfig,
};
use std::sync::Arc;

/// An actix-web application: takes requests, returns complete responses.
pub trait Application:
    ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<BoxBody>,
        Error = Error,
        InitError = (),
    >
{
}

impl<T> Application for T where
    T: ServiceFactory<
            ServiceRequest,
            Config = (),
            Response = ServiceResponse<BoxBody>,
            Error = Error,
            InitError = (),
        >
{
}

/// What all APIs share. Clones share its state.
#[derive(Clone)]
pub struct Shell {
    edge: Edge,
    refusals: Refusals,
    pub(crate) limiter: ConnectionLimiter,
}

impl Shell {
    /// Creates the shell of an API.
    #[must_use]
    pub fn new(settings: ShellSettings) -> Self {
        let limiter = ConnectionLimiter::new(settings.trusted_proxies.clone());
        let state = EdgeState {
            metrics: RequestMetrics::new(settings.listener, &settings.paths),
            settings,
            failures: Repeats::new(),
            slow: Repeats::new(),
            drain: Drain::default(),
        };
        let edge = Edge { state: Arc::new(state), ready: None, error_pages: None };
        Self { edge, refusals: Repeats::new(), limiter }
    }

    /// Adds a source of responses from memory, asked before a request is routed.
    pub(crate) fn with_ready(mut self, ready: Arc<dyn ReadyResponses>) -> Self {
        self.edge.ready = Some(ready);
        self
    }

    /// Renders errors as pages instead of envelopes.
    #[must_use]
    pub fn with_error_pages(mut self, pages: Arc<dyn ErrorPages>) -> Self {
        self.edge.error_pages = Some(pages);
        self
    }

    /// Returns the outermost middleware, which must wrap all others.
    #[must_use]
    pub fn edge(&self) -> Edge {
        self.edge.clone()
    }

    /// Adds these resources, and shared application data.
    pub fn configure(&self, config: &mut ServiceConfig, resources: impl IntoIterator<Item = Resource>) {
        config
            .app_data(self.refusals.clone())
            .app_data(self.edge.state.settings.trusted_proxies.clone())
            .default_service(Router::new(resources));
    }

    /// Returns the metrics of requests and connections.
    #[must_use]
    pub fn metrics(&self) -> Arc<dyn MetricsSource> {
        Arc::new(self.clone())
    }

    /// Waits until the listener begins to shut down. Streams end then.
    pub fn closing(&self) -> impl Future<Output = ()> + use<> {
        let drain = self.drain().clone();
        async move { drain.reached(Stage::Closing).await }
    }

    /// Returns the shutdown state.
    pub(crate) fn drain(&self) -> &Drain {
        &self.edge.state.drain
    }

    /// Advances the shutdown and wakes every connection, so that it sees the new stage.
    pub(crate) fn advance(&self, stage: Stage) {
        self.drain().advance(stage);
        self.limiter.wake();
    }

    /// Logs what the deduplicated log lines have counted so far.
    pub(crate) fn summarise(&self) {
        let EdgeState { failures, slow, .. } = &*self.edge.state;
        self.refusals.summarise();
        failures.summarise();
        slow.summarise();
    }
}

impl MetricsSource for Shell {
    fn write(&self, text: &mut MetricsText) {
        let EdgeState { metrics, settings, .. } = &*self.edge.state;
        metrics.write(text);
        self.limiter.write_metrics(settings.listener, text);
    }
}
