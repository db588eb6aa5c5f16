//! What every answer gets, whoever made it: the envelope of errors, the request id, CORS, and no body for HEAD.
//!
//! It stands around everything else, so that unknown paths, refused methods, failed handlers and panics all leave in
//! the same form.

mod answering;
mod cors;
mod exchange;
mod slow;
mod unread;

pub(crate) use self::cors::Caller;
use self::{answering::Answering, exchange::Exchange, slow::SlowKind, unread::WatchedBody};
use crate::{
    error::{ApiError, FailureKind, Problem},
    guard::Drain,
    metrics::RequestMetrics,
    origin::Origin,
    repeated::Repeats,
    request_id::Receipt,
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

/// The outermost layer around one worker's services.
pub struct EdgeService<S> {
    inner: S,
    /// Counted by each worker for itself: requests of several workers do not contend for one count.
    edge: Rc<Edge>,
}

impl<S> Service<ServiceRequest> for EdgeService<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<BoxBody>, Error = Error> + 'static,
{
    type Response = ServiceResponse<BoxBody>;
    type Error = Error;
    type Future = Answering<S::Future>;

    forward_ready!(inner);

    fn call(&self, mut request: ServiceRequest) -> Self::Future {
        let Edge { settings, ready, error_pages } = &*self.edge;
        let exchange = Exchange::begin(&request, settings, error_pages.as_ref());
        let Some(body) = WatchedBody::of(&mut request) else {
            return match ready.as_ref().and_then(|ready| exchange.ready(&**ready, request.request())) {
                Some(ReadyAnswer { path, response }) => {
                    let (request, _) = request.into_parts();
                    Answering::at_once(
                        exchange.concluded(request, Some(path), response, settings),
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
    /// Leaves a request to the application.
    fn route(
        &self,
        exchange: Exchange,
        request: ServiceRequest,
        body: Option<WatchedBody>,
    ) -> Answering<S::Future> {
        exchange.receipt.attach(request.request());
        Answering::begin(exchange, body, &self.edge, || self.inner.call(request))
    }
}

/// Shows errors as pages instead of envelopes. The edge adds what every error has: when to try again, what a path answers
/// to, and that nobody keeps it.
pub trait ErrorPages: Send + Sync {
    /// The answer to a request of this id that failed.
    fn page(&self, error: &ApiError, problem: &Problem, request_id: &str) -> HttpResponse;
}

/// Has answers that need nothing but memory.
pub(crate) trait ReadyAnswers: Send + Sync {
    /// The answer to a GET or HEAD without a body, where it is at hand. Everything else, failures included, is for the
    /// handler on the same path.
    fn ready(&self, request: &HttpRequest, receipt: &Receipt) -> Option<ReadyAnswer>;
}

/// An answer, and the path that metrics count it under.
pub(crate) struct ReadyAnswer {
    pub(crate) path: &'static str,
    pub(crate) response: HttpResponse,
}

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
