//! The public API: five endpoints, one file each.

mod auth;
mod endpoint;
mod feedback;
mod guilds;
mod refusals;
mod settings;
mod status;
mod team;

pub use self::settings::{BuildInfo, PublicSettings, UseCases};
pub(crate) use self::{auth::end_session, endpoint::Endpoint};

use self::refusals::Refusals;
use crate::{
    audit::Trail,
    edge::{Edge, EdgeSettings},
    metrics::{MetricsSource, RequestMetrics, SignIns},
    openapi,
    projection::Projections,
    repeated::{Repeats, Summaries},
    routing,
};
use actix_web::{
    App, Error, HttpResponse,
    body::BoxBody,
    dev::{ServiceFactory, ServiceRequest, ServiceResponse},
    http::header::{self, ContentType},
    web::{self, Bytes, ServiceConfig},
};
use companion_domain::port::{Clock, Entropy};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// How many sign-ins may be under way at once. Each goes on to its end, also when its caller is gone, so a platform that is
/// slow to answer would otherwise let them grow without end.
const SIGN_INS_AT_ONCE: usize = 1000;

/// What handlers share.
pub(crate) struct Shared {
    use_cases: UseCases,
    projections: Arc<Projections>,
    settings: PublicSettings,
    sign_ins: Arc<SignIns>,
    refusals: Arc<Refusals>,
    /// A place for each sign-in that is under way.
    places: Arc<Semaphore>,
}

/// The public API, ready to be served any number of times.
#[derive(Clone)]
pub struct PublicApi {
    shared: web::Data<Shared>,
    edge: Edge,
    trail: Trail,
    metrics: Vec<Arc<dyn MetricsSource>>,
}

impl PublicApi {
    /// The public API over these use cases.
    #[must_use]
    pub fn new(
        use_cases: UseCases,
        projections: Arc<Projections>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        settings: PublicSettings,
    ) -> Self {
        let allowed_origins = settings.allowed_origins.clone();
        let requests = Arc::new(RequestMetrics::new("public", Endpoint::ALL.map(Endpoint::path)));
        let sign_ins = Arc::new(SignIns::new(&openapi::errors_of_sign_in()));
        let metrics: Vec<Arc<dyn MetricsSource>> = vec![requests.clone(), sign_ins.clone()];
        let access_log = settings.access_log;
        let refusals = Arc::new(Refusals::new(settings.refused_codes_per_minute));
        let edge = EdgeSettings {
            allowed_origins,
            clock,
            entropy,
            access_log,
            metrics: requests,
            body_limit: settings.body_limit,
            failures: Repeats::new(),
        };
        let trail = Trail::new(settings.trusted_proxies.clone());
        let places = Arc::new(Semaphore::new(SIGN_INS_AT_ONCE));
        let shared = web::Data::new(Shared { use_cases, projections, settings, sign_ins, refusals, places });
        Self { shared, edge: Edge(Arc::new(edge)), trail, metrics }
    }

    /// What it counts, for the management API to show.
    #[must_use]
    pub fn metrics(&self) -> Arc<dyn MetricsSource> {
        Arc::new(self.metrics.clone())
    }

    /// What it has counted for the log and not told yet.
    pub(crate) fn summaries(&self) -> Summaries {
        [self.trail.refusals.clone(), self.edge.0.failures.clone()]
    }

    /// Adds the routes to an application. Its answers are only whole behind the edge that [`app`](Self::app) puts
    /// around them.
    pub fn configure(&self, config: &mut ServiceConfig) {
        config
            .app_data(self.shared.clone())
            .app_data(self.trail.clone())
            .default_service(web::to(routing::not_found));
        for endpoint in Endpoint::ALL {
            config.service(endpoint.resource(self.shared.settings.sign_out));
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
        App::new().wrap(self.edge.clone()).configure(|config| self.configure(config))
    }
}

/// A success with this body.
fn success(body: Bytes, cache_control: &'static str) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    response.content_type(ContentType::json()).insert_header((header::CACHE_CONTROL, cache_control));
    response.body(body)
}
