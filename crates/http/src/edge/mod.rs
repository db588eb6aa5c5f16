//! Outermost middleware of every application: error envelopes, request id, CORS, metrics, and no body for HEAD.
//!
//! It wraps everything else, so that unknown paths, wrong methods, failed handlers and panics all get the same form of
//! response.

mod cors;
mod exchange;
mod slow;
mod unread;

pub(crate) use self::cors::Caller;
use self::{exchange::Exchange, slow::SlowKind, unread::TrackedBody};
use crate::{
    client::TrustedProxies,
    error::{ApiError, FailureKind, Problem},
    guard::{Drain, Stage},
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
use companion_domain::{
    port::{Clock, Entropy},
    request::{RequestContext, carried},
};
use futures_util::{
    FutureExt as _,
    future::{Either, LocalBoxFuture},
};
use std::{
    future::{Ready, ready},
    panic::AssertUnwindSafe,
    rc::Rc,
    sync::Arc,
};
use tokio::select;

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
        ready(Ok(EdgeService { inner: Rc::new(inner), edge: Rc::new(self.clone()) }))
    }
}

/// The middleware of one worker.
pub struct EdgeService<S> {
    inner: Rc<S>,
    /// Not an `Arc`: workers would contend for its reference count.
    edge: Rc<Edge>,
}

impl<S> Service<ServiceRequest> for EdgeService<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<BoxBody>, Error = Error> + 'static,
{
    type Response = ServiceResponse<BoxBody>;
    type Error = Error;
    /// Only responses of handlers are boxed: for those from memory it would cost more than the edge's own work.
    type Future = Either<Ready<Answer>, LocalBoxFuture<'static, Answer>>;

    forward_ready!(inner);

    fn call(&self, mut request: ServiceRequest) -> Self::Future {
        let mut exchange = Exchange::begin(&request, &self.edge);
        let body = TrackedBody::of(&mut request);
        let answers = self.edge.ready.as_ref().filter(|_| body.is_none());
        if let Some((path, response)) =
            answers.and_then(|answers| exchange.ready(&**answers, request.request()))
        {
            let (request, _) = request.into_parts();
            return Either::Left(ready(Ok(exchange.complete(request, Some(path), response))));
        }
        exchange.start.attach(request.request());
        let context = RequestContext::new(exchange.start.id.as_str());
        exchange.context = Some(Arc::clone(&context));
        let inner = Rc::clone(&self.inner);
        let work = context.within(|| carried(async move { inner.call(request).await }));
        Either::Right(Box::pin(handled(exchange, body, work)))
    }
}

type Answer = Result<ServiceResponse<BoxBody>, Error>;

/// Awaits the application, at most until the drain deadline. A panic becomes an error response; other requests see no
/// broken state, because it is shared through ports only, and their operations are atomic. Then reads the rest of a
/// small body.
async fn handled(
    exchange: Exchange,
    body: Option<TrackedBody>,
    work: impl Future<Output = Answer>,
) -> Answer {
    let EdgeState { settings, drain, .. } = &*exchange.edge.state;
    let answer = select! {
        biased;
        done = AssertUnwindSafe(work).catch_unwind() => match done {
            Ok(Ok(answer)) => Ok(exchange.routed(answer)),
            Ok(Err(error)) => Err(exchange.failed_with(error.to_string())),
            Err(panic) => Err(exchange.panicked(&*panic)),
        },
        // Nor is the rest of the body awaited.
        () = drain.reached(Stage::Cancelling) => return Err(exchange.overdue()),
    };
    if let Some(body) = body {
        body.rest(settings.body_limit).await;
    }
    answer
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
