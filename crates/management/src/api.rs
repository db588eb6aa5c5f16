//! The management API as an application.

use crate::{
    access::{Access, Bearer, ManagementKeys, Scope},
    change_stream::MAX_STREAMS,
    routes::{is_open, routes},
};
use actix_web::{
    App, HttpRequest,
    body::BoxBody,
    dev::ServiceRequest,
    middleware::{Next, from_fn},
    web::{self, ServiceConfig},
};
use async_trait::async_trait;
use companion_domain::{
    port::{Clock, Entropy},
    usecase::UseCases,
};
use companion_http::{
    ApiError, Application, ConcurrencyLimiter, MetricsSource, RunningServer, ServerLimits, Shell,
    ShellSettings, Socket, TrustedProxies,
    audit::{Actor, Audit},
    serve,
};
use std::{io, sync::Arc};
use tokio::sync::Semaphore;

/// Settings of the management API.
#[derive(Debug, Clone)]
pub struct ManagementSettings {
    /// The accepted keys.
    pub keys: ManagementKeys,
    /// Largest request body, in bytes. A sync is parsed line by line and may be longer.
    pub body_limit: usize,
    /// Whether each request is logged.
    pub access_log: bool,
    /// Trusted reverse proxies, whose `X-Forwarded-For` is believed.
    pub trusted_proxies: TrustedProxies,
}

/// The readiness check of the service.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Returns `Ok` if the service is ready for traffic; the error is a short reason.
    async fn check(&self) -> Result<(), String>;
}

/// Context of the handlers.
#[derive(Clone)]
pub(crate) struct ManagementContext {
    pub(crate) use_cases: UseCases,
    pub(crate) readiness: Arc<dyn Readiness>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) body_limit: usize,
    pub(crate) metrics: Vec<Arc<dyn MetricsSource>>,
    /// Limits requests that wait for the store.
    pub(crate) storage_limiter: Arc<ConcurrencyLimiter>,
    /// One permit per open change stream.
    pub(crate) streams: Arc<Semaphore>,
}

/// The management API. It can be served any number of times.
#[derive(Clone)]
pub struct ManagementApi {
    context: ManagementContext,
    access: Access,
    shell: Shell,
}

impl ManagementApi {
    /// Creates the management API over these use cases, with this readiness check.
    #[must_use]
    pub fn new(
        use_cases: &UseCases,
        readiness: Arc<dyn Readiness>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        settings: ManagementSettings,
    ) -> Self {
        let ManagementSettings { keys, body_limit, access_log, trusted_proxies } = settings;
        let shell = Shell::new(ShellSettings {
            listener: "management",
            paths: routes().map(|(path, ..)| path).collect(),
            // Browsers have no business here, so CORS allows no origin.
            allowed_origins: Vec::new(),
            body_limit,
            access_log,
            // This listener always serves plain HTTP.
            tls: false,
            trusted_proxies,
            clock: Arc::clone(&clock),
            entropy,
        });
        let context = ManagementContext {
            use_cases: use_cases.clone(),
            readiness,
            clock,
            body_limit,
            metrics: vec![shell.metrics()],
            storage_limiter: Arc::default(),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
        };
        Self { context, access: Access::new(keys), shell }
    }

    /// Adds a source to `GET /metrics`.
    #[must_use]
    pub fn with_metrics(mut self, source: Arc<dyn MetricsSource>) -> Self {
        self.context.metrics.push(source);
        self
    }

    fn configure(&self, config: &mut ServiceConfig) {
        config.app_data(web::Data::new(self.context.clone())).app_data(web::Data::new(self.shell.clone()));
        let resources = routes().map(|(path, scope, resource)| match scope {
            Some(scope) => resource(path).guarded(move |request| within(scope, request)),
            None => resource(path),
        });
        self.shell.configure(config, resources);
    }

    /// Returns the whole application, for a server or a test.
    pub fn app(&self) -> App<impl Application + use<>> {
        let access = self.access.clone();
        let guard = move |request: ServiceRequest, next: Next<BoxBody>| {
            let checked = if is_open(request.path()) { Ok(()) } else { access.check(request.request()) };
            async move {
                match checked {
                    Ok(()) => next.call(request).await,
                    Err(error) => {
                        audit_refused(request.request(), &error);
                        Ok(request.error_response(error))
                    }
                }
            }
        };
        App::new().wrap(from_fn(guard)).wrap(self.shell.clone()).configure(|config| self.configure(config))
    }
}

/// Requires a scope of the request's key. It runs after routing, so that no spelling of a path can bypass it.
fn within(scope: Scope, request: &HttpRequest) -> Result<(), ApiError> {
    let allowed = Bearer::of(request).and_then(|bearer| bearer.require(scope));
    allowed.inspect_err(|error| audit_refused(request, error))
}

/// Audits a refused key. A missing key is not audited.
fn audit_refused(request: &HttpRequest, error: &ApiError) {
    let audit = Audit::of(request, "use_management_key");
    match error {
        ApiError::KeyMissing => {}
        ApiError::KeyScopeMissing { .. } => audit.refused(error),
        _ => audit.by(Actor::Unauthenticated).refused(error),
    }
}

/// Serves the management API on a bound listener. Must be called within a tokio runtime.
pub fn serve_management(
    api: ManagementApi,
    socket: Socket,
    limits: ServerLimits,
) -> io::Result<RunningServer> {
    let shell = api.shell.clone();
    serve(move || api.app(), &shell, socket, limits)
}
