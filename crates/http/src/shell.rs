//! Wraps an API in what all APIs share: the edge, the audit trail, metrics and connection limits.

use crate::{
    audit::Refusals,
    client::TrustedProxies,
    edge::{Edge, EdgeSettings, ErrorPages, ReadyResponses},
    guard::{ConnectionLimiter, ConnectionMetrics, Drain, Stage},
    metrics::{MetricsSource, RequestMetrics},
    origin::Origin,
    repeated::{Repeats, Summaries},
    routing::{Resource, Router},
};
use actix_web::{
    Error,
    body::BoxBody,
    dev::{ServiceFactory, ServiceRequest, ServiceResponse},
    web::ServiceConfig,
};
use companion_domain::port::{Clock, Entropy};
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

/// Settings of the shell of an API.
pub struct ShellSettings {
    /// Name of the listener in metrics.
    pub listener: &'static str,
    /// The paths that metrics distinguish.
    pub paths: Vec<&'static str>,
    /// Origins that may read responses (CORS).
    pub allowed_origins: Vec<Origin>,
    /// Largest request body, in bytes, that is read and discarded to keep the connection alive.
    pub body_limit: usize,
    /// Whether each request is logged.
    pub access_log: bool,
    /// Whether the listener terminates TLS. Responses then have `Strict-Transport-Security`.
    pub tls: bool,
    /// Trusted reverse proxies, whose `X-Forwarded-For` is believed.
    pub trusted_proxies: TrustedProxies,
    /// Times requests.
    pub clock: Arc<dyn Clock>,
    /// Generates request ids.
    pub entropy: Arc<dyn Entropy>,
}

/// What all APIs share. Clones share its state.
#[derive(Clone)]
pub struct Shell {
    edge: Edge,
    refusals: Refusals,
    proxies: TrustedProxies,
    requests: Arc<RequestMetrics>,
    connections: Arc<ConnectionMetrics>,
}

impl Shell {
    /// Creates the shell of an API.
    #[must_use]
    pub fn new(settings: ShellSettings) -> Self {
        let requests = Arc::new(RequestMetrics::new(settings.listener, settings.paths));
        let edge_settings = EdgeSettings {
            allowed_origins: settings.allowed_origins,
            clock: settings.clock,
            entropy: settings.entropy,
            access_log: settings.access_log,
            tls: settings.tls,
            metrics: requests.clone(),
            body_limit: settings.body_limit,
            failures: Repeats::new(),
            slow: Repeats::new(),
            drain: Drain::default(),
        };
        let edge = Edge { settings: Arc::new(edge_settings), ready: None, error_pages: None };
        let limiter = ConnectionLimiter::new(settings.trusted_proxies.clone());
        let connections = Arc::new(ConnectionMetrics { listener: settings.listener, limiter });
        Self { edge, refusals: Repeats::new(), proxies: settings.trusted_proxies, requests, connections }
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
            .app_data(self.proxies.clone())
            .default_service(Router::new(resources));
    }

    /// Returns the metrics of requests and connections.
    #[must_use]
    pub fn metrics(&self) -> Arc<dyn MetricsSource> {
        let (requests, connections): (Arc<dyn MetricsSource>, Arc<dyn MetricsSource>) =
            (self.requests.clone(), self.connections.clone());
        Arc::new(vec![requests, connections])
    }

    /// Waits until the listener begins to shut down. Streams end then.
    pub fn closing(&self) -> impl Future<Output = ()> + use<> {
        self.drain().clone().reached(Stage::Closing)
    }

    /// Returns the connection limiter.
    pub(crate) fn connection_limiter(&self) -> &ConnectionLimiter {
        &self.connections.limiter
    }

    /// Returns the shutdown state.
    pub(crate) fn drain(&self) -> &Drain {
        &self.edge.settings.drain
    }

    /// Returns the deduplicated log lines that are not yet summarised.
    pub(crate) fn summaries(&self) -> Summaries {
        let EdgeSettings { failures, slow, .. } = &*self.edge.settings;
        [self.refusals.clone(), failures.clone(), slow.clone()]
    }
}
