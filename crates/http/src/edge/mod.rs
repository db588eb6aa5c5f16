//! Outermost middleware of every application: error envelopes, request id, CORS, metrics, and no body for HEAD.
//!
//! It wraps everything else, so that unknown paths, wrong methods, failed handlers and panics all get the same form of
//! response.

mod cors;
mod exchange;
mod response_future;
mod slow;
mod unread;

pub(crate) use self::cors::Caller;
use self::{exchange::Exchange, response_future::ResponseFuture, slow::SlowKind, unread::TrackedBody};
use crate::{
    client::TrustedProxies,
    error::{ApiError, FailureKind, Problem},
    guard::Drain,
    metrics::RequestMetrics,
    origin::Origin,
    repeated::Repeats,
    request_id::RequestStart,
};
use actix_web::{
    Error, HttpRequest, HttpResponse,
    body::BoxBody,
    dev::{Service, ServiceRequest, ServiceResponse, Transform, forward_ready},
};
use companion_domain::port::{Clock, Entropy};
use std::{
    future::{Ready, ready},
    rc::Rc,
    sync::Arc,
};

impl<S> Transform<S, ServiceRequest> for Edge
where
    S: Service<ServiceRequest, Response = ServiceResponse<BoxBody>, Error = Error> + 'static,
{
    type Response = ServiceResponse<BoxBody>;
    type Error = Error;
    type Transform = EdgeService<S>;
    type InitError = ();
    type Future = Ready<Result<Self::Transform, ()>>;

    fn new_transform(&self, inner: S) -> Self::Future {
        ready(Ok(EdgeService { inner, edge: Rc::new(self.clone()) }))
    }
}

/// The middleware of one worker.
pub struct EdgeService<S> {
    inner: S,
    /// Not an `Arc`: workers would contend for its reference count.
    edge: Rc<Edge>,
}

impl<S> Service<ServiceRequest> for EdgeService<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<BoxBody>, Error = Error> + 'static,
{
    type Response = ServiceResponse<BoxBody>;
    type Error = Error;
    type Future = ResponseFuture<S::Future>;

    forward_ready!(inner);

    fn call(&self, mut request: ServiceRequest) -> Self::Future {
        let exchange = Exchange::begin(&request, &self.edge);
        let body = TrackedBody::of(&mut request);
        let ready = self.edge.ready.as_ref().filter(|_| body.is_none());
        if let Some((path, response)) = ready.and_then(|ready| exchange.ready(&**ready, request.request())) {
            let (request, _) = request.into_parts();
            let answer = exchange.complete(request, Some(path), response, &self.edge);
            return ResponseFuture::ready(answer, &self.edge);
        }
        exchange.start.attach(request.request());
        ResponseFuture::begin(exchange, body, &self.edge, || self.inner.call(request))
    }
}

/// Renders errors as pages instead of envelopes. The edge adds the headers of every error: `Retry-After`, `Allow` and
/// `Cache-Control: no-store`.
pub trait ErrorPages: Send + Sync {
    /// Renders the error page of a request, which is unknown after a panic.
    fn page(
        &self,
        error: &ApiError,
        problem: &Problem,
        request_id: &str,
        request: Option<&HttpRequest>,
    ) -> HttpResponse;
}

/// Provides responses that need only memory.
pub(crate) trait ReadyResponses: Send + Sync {
    /// Returns the response to a GET or HEAD without a body if it is in memory. `None` leaves everything else, failures
    /// included, to the handler of the path. The path is what metrics count the response under.
    fn ready(&self, request: &HttpRequest, start: &RequestStart) -> Option<(&'static str, HttpResponse)>;
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

/// What the requests of one listener share.
pub(crate) struct EdgeState {
    pub(crate) settings: ShellSettings,
    pub(crate) metrics: RequestMetrics,
    /// Deduplicates log lines of server errors.
    pub(crate) failures: Arc<Repeats<FailureKind>>,
    /// Deduplicates log lines of slow requests.
    pub(crate) slow: Arc<Repeats<SlowKind>>,
    /// Shutdown state of the listener.
    pub(crate) drain: Drain,
}

/// The outermost layer of an application.
#[derive(Clone)]
pub struct Edge {
    pub(crate) state: Arc<EdgeState>,
    pub(crate) ready: Option<Arc<dyn ReadyResponses>>,
    pub(crate) error_pages: Option<Arc<dyn ErrorPages>>,
}
