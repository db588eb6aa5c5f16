//! The management API: what the operator and the bot talk to, on a listener of its own.

mod health;

pub use self::health::Readiness;

use crate::{
    edge::{Edge, EdgeSettings},
    routing,
};
use actix_web::{
    App, Error,
    body::BoxBody,
    dev::{ServiceFactory, ServiceRequest, ServiceResponse},
    web::{self, ServiceConfig},
};
use companion_domain::port::{Clock, Entropy};
use std::sync::Arc;

/// What handlers share.
struct Shared {
    readiness: Arc<dyn Readiness>,
}

/// The management API, ready to be served any number of times.
#[derive(Clone)]
pub struct ManagementApi {
    shared: web::Data<Shared>,
    edge: Edge,
}

impl ManagementApi {
    /// The management API of a service whose readiness this probe tells.
    #[must_use]
    pub fn new(readiness: Arc<dyn Readiness>, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        // No page has business here, so no origin may read the answers.
        let edge = EdgeSettings { allowed_origins: Vec::new(), clock, entropy, access_log: false };
        Self { shared: web::Data::new(Shared { readiness }), edge: Edge(Arc::new(edge)) }
    }

    /// Adds the routes to an application. Its answers are only whole behind the edge that [`app`](Self::app) puts
    /// around them.
    pub fn configure(&self, config: &mut ServiceConfig) {
        config
            .app_data(self.shared.clone())
            .service(routing::reading("/health/live", health::live))
            .service(routing::reading("/health/ready", health::ready))
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
        App::new().wrap(self.edge.clone()).configure(|config| self.configure(config))
    }
}
