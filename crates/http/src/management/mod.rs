//! The management API: what the operator and the bot talk to, on a listener of its own.

mod bot;
mod health;
mod key;
mod replace;
mod request;
mod sessions;

pub use self::{health::Readiness, key::ManagementKeys};

use crate::{
    UseCases,
    edge::{Edge, EdgeSettings},
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
    usecase::{Feed, ForgetUser, ManageSessions},
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
}

/// What handlers share.
struct Shared {
    readiness: Arc<dyn Readiness>,
    feed: Arc<Feed>,
    sessions: Arc<ManageSessions>,
    forget: Arc<ForgetUser>,
    clock: Arc<dyn Clock>,
    keys: ManagementKeys,
    body_limit: usize,
}

/// The management API, ready to be served any number of times.
#[derive(Clone)]
pub struct ManagementApi {
    shared: web::Data<Shared>,
    edge: Edge,
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
        let ManagementSettings { keys, body_limit, access_log } = settings;
        let shared = Shared {
            readiness,
            feed: Arc::clone(&use_cases.feed),
            sessions: Arc::clone(&use_cases.sessions),
            forget: Arc::clone(&use_cases.forget),
            clock: Arc::clone(&clock),
            keys,
            body_limit,
        };
        // No page has business here, so no origin may read the answers.
        let edge = EdgeSettings { allowed_origins: Vec::new(), clock, entropy, access_log };
        Self { shared: web::Data::new(shared), edge: Edge(Arc::new(edge)) }
    }

    /// Adds the routes to an application. Its answers are only whole behind the edge that [`app`](Self::app) puts
    /// around them.
    pub fn configure(&self, config: &mut ServiceConfig) {
        config
            .app_data(self.shared.clone())
            .service(routing::reading("/health/live", health::live))
            .service(routing::reading("/health/ready", health::ready))
            .configure(bot::configure)
            .service(sessions::listing())
            .service(sessions::signing_out())
            .service(sessions::one())
            .service(sessions::of_user())
            .service(sessions::user())
            .default_service(web::to(routing::not_found));
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
        let keys = self.shared.keys.clone();
        let guard = move |request: ServiceRequest, next: Next<BoxBody>| {
            let checked = if is_open(request.path()) { Ok(()) } else { keys.check(request.headers()) };
            async move {
                match checked {
                    Ok(()) => next.call(request).await,
                    Err(error) => Ok(request.error_response(error)),
                }
            }
        };
        App::new().wrap(from_fn(guard)).wrap(self.edge.clone()).configure(|config| self.configure(config))
    }
}

/// Whether everyone may look there. Everywhere else a key is asked for, also where nothing is.
fn is_open(path: &str) -> bool {
    path.starts_with("/health/")
}

/// A success with this body.
fn success(body: Bytes) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    response.content_type(ContentType::json()).insert_header((header::CACHE_CONTROL, "no-store"));
    response.body(body)
}
