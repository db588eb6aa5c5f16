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
        let Edge { settings, ready, error_pages } = &*self.edge;
        let exchange = Exchange::begin(&request, settings, error_pages.as_ref());
        let Some(body) = TrackedBody::of(&mut request) else {
            return match ready.as_ref().and_then(|ready| exchange.ready(&**ready, request.request())) {
                Some(ReadyResponse { path, response }) => {
                    let (request, _) = request.into_parts();
                    ResponseFuture::ready(
                        exchange.complete(request, Some(path), response, settings),
                        &self.edge,
                    )
                }
                None => self.route(exchange, request, None),
            };
        };
        self.route(exchange, request, Some(body))
    }
}

impl<S> EdgeService<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<BoxBody>, Error = Error>,
{
    /// Passes a request to the application.
    fn route(
        &self,
        exchange: Exchange,
        request: ServiceRequest,
        body: Option<TrackedBody>,
    ) -> ResponseFuture<S::Future> {
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
    /// included, to the handler of the path.
    fn ready(&self, request: &HttpRequest, start: &RequestStart) -> Option<ReadyResponse>;
}

/// A response, and the path that metrics count it under.
pub(crate) struct ReadyResponse {
    pub(crate) path: &'static str,
    pub(crate) response: HttpResponse,
}

/// Settings of the edge of one listener.
pub(crate) struct EdgeSettings {
    pub(crate) allowed_origins: Vec<Origin>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    /// Whether each request is logged.
    pub(crate) access_log: bool,
    /// Whether the listener terminates TLS.
    pub(crate) tls: bool,
    pub(crate) metrics: Arc<RequestMetrics>,
    /// Largest request body, in bytes, that is read and discarded to keep the connection alive.
    pub(crate) body_limit: usize,
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
    pub(crate) settings: Arc<EdgeSettings>,
    pub(crate) ready: Option<Arc<dyn ReadyResponses>>,
    pub(crate) error_pages: Option<Arc<dyn ErrorPages>>,
}
