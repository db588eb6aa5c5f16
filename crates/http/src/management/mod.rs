//! The management API: what the operator and the bot talk to, on a listener of its own.

mod bot;
mod endpoint;
mod guesses;
mod health;
mod key;
pub(crate) mod metrics;
mod query;
pub(crate) mod reference;
pub(crate) mod replace;
mod request;
mod sessions;

pub(crate) use self::endpoint::Endpoint;
pub use self::{health::Readiness, key::ManagementKeys};

use self::key::Lock;
use crate::{
    TrustedProxies, UseCases,
    audit::{Audit, Trail},
    edge::{Edge, EdgeSettings},
    error::ApiError,
    metrics::{MetricsSource, RequestMetrics},
    repeated::{Repeats, Summaries},
    routing,
};
use actix_web::{
    App, Error, HttpResponse,
    body::BoxBody,
    dev::{ServiceFactory, ServiceRequest, ServiceResponse},
    http::header::{self, ContentType},
    middleware::{Next, from_fn},
    web::{self, Bytes, ServiceConfig},
};
use companion_domain::{
    port::{Clock, Entropy},
    usecase::{ExplainGuild, Feed, ForgetUser, LookUp, ManageSessions},
};
use std::sync::Arc;

/// How the management API behaves.
#[derive(Debug, Clone)]
pub struct ManagementSettings {
    /// The keys that open it.
    pub keys: ManagementKeys,
    /// The largest request body that is read at once, in bytes. A sync is read line by line and may be longer.
    pub body_limit: usize,
    /// Whether each request is worth a line in the log.
    pub access_log: bool,
    /// Proxies of ours, whose word about the client's address counts.
    pub trusted_proxies: TrustedProxies,
}

/// What handlers share.
#[derive(Clone)]
struct Shared {
    readiness: Arc<dyn Readiness>,
    feed: Arc<Feed>,
    look_up: Arc<LookUp>,
    explain: Arc<ExplainGuild>,
    sessions: Arc<ManageSessions>,
    forget: Arc<ForgetUser>,
    clock: Arc<dyn Clock>,
    body_limit: usize,
    metrics: Vec<Arc<dyn MetricsSource>>,
}

/// The management API, ready to be served any number of times.
#[derive(Clone)]
pub struct ManagementApi {
    shared: Shared,
    lock: Lock,
    edge: Edge,
    trail: Trail,
}

impl ManagementApi {
    /// The management API over these use cases, of a service whose readiness this probe tells.
    #[must_use]
    pub fn new(
        use_cases: &UseCases,
        readiness: Arc<dyn Readiness>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        settings: ManagementSettings,
    ) -> Self {
        let ManagementSettings { keys, body_limit, access_log, trusted_proxies } = settings;
        let requests = Arc::new(RequestMetrics::new("management", Endpoint::ALL.map(Endpoint::path)));
        let shared = Shared {
            readiness,
            feed: Arc::clone(&use_cases.feed),
            look_up: Arc::clone(&use_cases.look_up),
            explain: Arc::clone(&use_cases.explain),
            sessions: Arc::clone(&use_cases.sessions),
            forget: Arc::clone(&use_cases.forget),
            clock: Arc::clone(&clock),
            body_limit,
            metrics: vec![requests.clone()],
        };
        // No page has business here, so no origin may read the answers.
        let allowed_origins = Vec::new();
        let edge = EdgeSettings {
            allowed_origins,
            clock,
            entropy,
            access_log,
            metrics: requests,
            body_limit,
            failures: Repeats::new(),
        };
        let lock = Lock::new(keys, trusted_proxies.clone());
        Self { shared, lock, edge: Edge(Arc::new(edge)), trail: Trail::new(trusted_proxies) }
    }

    /// Shows the numbers of this source too, under `GET /metrics`.
    #[must_use]
    pub fn with_metrics(mut self, source: Arc<dyn MetricsSource>) -> Self {
        self.shared.metrics.push(source);
        self
    }

    /// What it has counted for the log and not told yet.
    pub(crate) fn summaries(&self) -> Summaries {
        [self.trail.refusals.clone(), self.edge.0.failures.clone()]
    }

    /// Adds the routes to an application. Its answers are only whole behind the key check and the edge that
    /// [`app`](Self::app) puts around them.
    fn configure(&self, config: &mut ServiceConfig) {
        config
            .app_data(web::Data::new(self.shared.clone()))
            .app_data(self.trail.clone())
            .default_service(web::to(routing::not_found));
        for endpoint in Endpoint::ALL {
            config.service(endpoint.resource());
        }
    }

    /// The whole application, for a server or for a test.
    pub fn app(
        &self,
    ) -> App<
        impl ServiceFactory<
            ServiceRequest,
            Config = (),
            Response = ServiceResponse<BoxBody>,
            Error = Error,
            InitError = (),
        > + use<>,
    > {
        let lock = self.lock.clone();
        let guard = move |request: ServiceRequest, next: Next<BoxBody>| {
            let checked = if is_open(request.path()) { Ok(()) } else { lock.open(request.request()) };
            async move {
                match checked {
                    Ok(()) => next.call(request).await,
                    Err(error) => {
                        // Whoever sends no key tries none.
                        if !matches!(error, ApiError::KeyMissing) {
                            Audit::of(request.request(), "use_management_key").refused(&error);
                        }
                        Ok(request.error_response(error))
                    }
                }
            }
        };
        App::new().wrap(from_fn(guard)).wrap(self.edge.clone()).configure(|config| self.configure(config))
    }
}

/// Whether everyone may look there. Everywhere else a key is asked for, also where nothing is.
fn is_open(path: &str) -> bool {
    path.starts_with("/health/") || path == Endpoint::Document.path() || path == Endpoint::Reference.path()
}

/// A success with this body.
fn success(body: Bytes) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    response.content_type(ContentType::json()).insert_header((header::CACHE_CONTROL, "no-store"));
    response.body(body)
}
