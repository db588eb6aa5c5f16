//! What stands around every API: the edge, the audit trail, and what the log and the metrics count.

use crate::{
    audit::Trail,
    client::TrustedProxies,
    edge::{Edge, EdgeSettings, ErrorPages, ReadyAnswers},
    guard::{Admission, ConnectionMetrics, Drain, Stage},
    metrics::{MetricsSource, RequestMetrics},
    origin::Origin,
    repeated::{Repeats, Summaries},
    routing,
};
use actix_web::{
    Error,
    body::BoxBody,
    dev::{ServiceFactory, ServiceRequest, ServiceResponse},
    web::{self, ServiceConfig},
};
use companion_domain::port::{Clock, Entropy};
use std::sync::Arc;

/// What an API is to actix-web: requests in, whole answers out.
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

/// How an API meets its callers.
pub struct ShellSettings {
    /// What metrics call the listener.
    pub listener: &'static str,
    /// The paths that metrics tell apart.
    pub paths: Vec<&'static str>,
    /// Pages of these origins may read answers.
    pub allowed_origins: Vec<Origin>,
    /// The largest body that is read for no other reason than to go on after it, in bytes.
    pub body_limit: usize,
    /// Whether each request is worth a line in the log.
    pub access_log: bool,
    /// Whether the listener speaks TLS itself. Browsers are then told not to come without it.
    pub tls: bool,
    /// Proxies of ours, whose word about the client's address counts.
    pub trusted_proxies: TrustedProxies,
    /// Dates requests.
    pub clock: Arc<dyn Clock>,
    /// Names them.
    pub entropy: Arc<dyn Entropy>,
}

/// What stands around an API. Clones are the same.
#[derive(Clone)]
pub struct Shell {
    edge: Edge,
    trail: Trail,
    proxies: TrustedProxies,
    requests: Arc<RequestMetrics>,
    connections: Arc<ConnectionMetrics>,
}

impl Shell {
    /// The shell of an API.
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
        let admission = Admission::new(settings.trusted_proxies.clone());
        let connections = Arc::new(ConnectionMetrics { listener: settings.listener, admission });
        Self { edge, trail: Trail::new(), proxies: settings.trusted_proxies, requests, connections }
    }

    /// The same, with answers that are given before a request is routed.
    pub(crate) fn with_ready(mut self, ready: Arc<dyn ReadyAnswers>) -> Self {
        self.edge.ready = Some(ready);
        self
    }

    /// The same, with errors as pages.
    #[must_use]
    pub fn with_error_pages(mut self, pages: Arc<dyn ErrorPages>) -> Self {
        self.edge.error_pages = Some(pages);
        self
    }

    /// The outermost layer of the application, to be wrapped around all others.
    #[must_use]
    pub fn edge(&self) -> Edge {
        self.edge.clone()
    }

    /// Adds what handlers find beside their own data, and the answer of paths that do not exist.
    pub fn configure(&self, config: &mut ServiceConfig) {
        config
            .app_data(self.trail.clone())
            .app_data(self.proxies.clone())
            .default_service(web::to(routing::not_found));
    }

    /// What was answered, and how fast, and who was connected.
    #[must_use]
    pub fn metrics(&self) -> Arc<dyn MetricsSource> {
        let (requests, connections): (Arc<dyn MetricsSource>, Arc<dyn MetricsSource>) =
            (self.requests.clone(), self.connections.clone());
        Arc::new(vec![requests, connections])
    }

    /// Waits until the listener comes to its end. Answers without an end of their own end then.
    pub fn closing(&self) -> impl Future<Output = ()> + use<> {
        self.drain().clone().reached(Stage::Closing)
    }

    /// Who may connect.
    pub(crate) fn admission(&self) -> &Admission {
        &self.connections.admission
    }

    /// How it comes to its end.
    pub(crate) fn drain(&self) -> &Drain {
        &self.edge.settings.drain
    }

    /// What is counted for the log and not told yet.
    pub(crate) fn summaries(&self) -> Summaries {
        let EdgeSettings { failures, slow, .. } = &*self.edge.settings;
        [self.trail.refusals.clone(), failures.clone(), slow.clone()]
    }
}
