//! The shell of an API: the outermost middleware, with error envelopes, request id, CORS, metrics, and no body for HEAD;
//! the audit trail, and connection limits.
//!
//! The middleware wraps everything else, so that unknown paths, wrong methods, failed handlers and panics all get the
//! same form of response.

mod cors;
mod exchange;
mod slow;
mod unread;

pub(crate) use self::cors::Caller;
use self::{exchange::Exchange, slow::SlowKind, unread::TrackedBody};
use crate::{
    audit::Refusals,
    client::TrustedProxies,
    error::{ApiError, FailureKind, Problem},
    guard::{ConnectionLimiter, Drain, Stage},
    metrics::{MetricsSource, MetricsText, RequestMetrics},
    origin::Origin,
    repeated::Repeats,
    request_id::RequestStart,
    routing::{Resource, Router},
};
use actix_web::{
    Error, HttpMessage as _, HttpRequest, HttpResponse,
    body::BoxBody,
    dev::{Service, ServiceFactory, ServiceRequest, ServiceResponse, Transform, forward_ready},
    web::ServiceConfig,
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
    time::Duration,
};
use tokio::select;

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

/// What all APIs share, and the outermost middleware of each. Clones share its state.
#[derive(Clone)]
pub struct Shell {
    settings: Arc<ShellSettings>,
    metrics: Arc<RequestMetrics>,
    /// Deduplicates log lines of server errors.
    failures: Arc<Repeats<FailureKind>>,
    /// Deduplicates log lines of slow requests.
    slow: Arc<Repeats<SlowKind>>,
    refusals: Refusals,
    ready: Option<Arc<dyn ReadyResponses>>,
    error_pages: Option<Arc<dyn ErrorPages>>,
    pub(crate) limiter: ConnectionLimiter,
    /// Shutdown state of the listener.
    pub(crate) drain: Drain,
}

impl Shell {
    /// Creates the shell of an API.
    #[must_use]
    pub fn new(settings: ShellSettings) -> Self {
        Self {
            limiter: ConnectionLimiter::new(settings.trusted_proxies.clone()),
            metrics: Arc::new(RequestMetrics::new(settings.listener, &settings.paths)),
            settings: Arc::new(settings),
            failures: Repeats::new(),
            slow: Repeats::new(),
            refusals: Repeats::new(),
            ready: None,
            error_pages: None,
            drain: Drain::default(),
        }
    }

    /// Adds a source of responses from memory, asked before a request is routed.
    pub(crate) fn with_ready(self, ready: Arc<dyn ReadyResponses>) -> Self {
        Self { ready: Some(ready), ..self }
    }

    /// Renders errors as pages instead of envelopes.
    #[must_use]
    pub fn with_error_pages(self, pages: Arc<dyn ErrorPages>) -> Self {
        Self { error_pages: Some(pages), ..self }
    }

    /// Adds these resources, and shared application data.
    pub fn configure(&self, config: &mut ServiceConfig, resources: impl IntoIterator<Item = Resource>) {
        config
            .app_data(self.refusals.clone())
            .app_data(self.settings.trusted_proxies.clone())
            .default_service(Router::new(resources));
    }

    /// Returns the metrics of requests and connections.
    #[must_use]
    pub fn metrics(&self) -> Arc<dyn MetricsSource> {
        Arc::new(self.clone())
    }

    /// Waits until the listener begins to shut down. Streams end then.
    pub fn closing(&self) -> impl Future<Output = ()> + use<> {
        let drain = self.drain.clone();
        async move { drain.reached(Stage::Closing).await }
    }

    /// Advances the shutdown and wakes every connection, so that it sees the new stage.
    pub(crate) fn advance(&self, stage: Stage) {
        self.drain.advance(stage);
        self.limiter.wake();
    }

    /// Logs what the deduplicated log lines have counted so far.
    pub(crate) fn summarise(&self) {
        self.refusals.summarise();
        self.failures.summarise();
        self.slow.summarise();
    }
}

impl MetricsSource for Shell {
    fn write(&self, text: &mut MetricsText) {
        self.metrics.write(text);
        self.limiter.write_metrics(self.settings.listener, text);
    }
}

impl<S> Transform<S, ServiceRequest> for Shell
where
    S: Service<ServiceRequest, Response = ServiceResponse<BoxBody>, Error = Error> + 'static,
{
    type Response = ServiceResponse<BoxBody>;
    type Error = Error;
    type Transform = EdgeService<S>;
    type InitError = ();
    type Future = Ready<Result<Self::Transform, ()>>;

    fn new_transform(&self, inner: S) -> Self::Future {
        ready(Ok(EdgeService { inner: Rc::new(inner), shell: Rc::new(self.clone()) }))
    }
}

/// The middleware of one worker.
pub struct EdgeService<S> {
    inner: Rc<S>,
    /// Not an `Arc`: workers would contend for its reference count.
    shell: Rc<Shell>,
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
        let mut exchange = Exchange::begin(&request, &self.shell);
        let body = TrackedBody::of(&mut request);
        let answers = self.shell.ready.as_ref().filter(|_| body.is_none());
        if let Some((path, response)) =
            answers.and_then(|answers| exchange.ready(&**answers, request.request()))
        {
            let (request, _) = request.into_parts();
            return Either::Left(ready(Ok(exchange.complete(request, Some(path), response))));
        }
        request.extensions_mut().insert(exchange.start);
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
    let Shell { settings, drain, .. } = &*exchange.shell;
    let answer = select! {
        biased;
        done = AssertUnwindSafe(work).catch_unwind() => match done {
            Ok(Ok(answer)) => Ok(exchange.routed(answer)),
            Ok(Err(error)) => Err(exchange.failed_with(error.to_string())),
            Err(panic) => Err(exchange.panicked(&*panic)),
        },
        // Nor is the rest of the body awaited.
        () = drain.reached(Stage::Cancelling) => {
            return Err(exchange.unanswered(ApiError::Overloaded(Duration::from_secs(1))));
        }
    };
    if let Some(body) = body {
        body.rest(settings.body_limit).await;
    }
    answer
}
