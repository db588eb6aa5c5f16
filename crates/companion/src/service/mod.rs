//! A service that runs: both listeners, what happens in the background, and how it ends.

mod background;
mod clock_monitor;
mod descriptors;
mod listeners;
mod readiness;

pub use self::listeners::{CannotListen, Listeners};

use self::{background::Background, readiness::ServiceReadiness};
use crate::{composition::Composition, configuration::Configuration};
use companion_cache::Cache;
use companion_domain::port::{Ports, Scheduler, StoreError};
use companion_http::{Listening, PublicApi, ServerLimits, serve_public};
use companion_management::{ManagementApi, serve_management};
use std::{io, net::SocketAddr, sync::Arc, time::Duration};

/// How long public requests in flight may take when the service stops.
const PUBLIC_DRAIN: Duration = Duration::from_secs(3);
/// The same for the management API, which goes on telling that the service is not ready until the public one is done.
const MANAGEMENT_DRAIN: Duration = Duration::from_secs(1);
/// How long work beside the requests may take after that.
const BACKGROUND_DRAIN: Duration = Duration::from_millis(500);
/// The few who ask the management API need no more threads than this.
const MANAGEMENT_WORKERS: usize = 1;
/// How many connections the management API holds at once. Nobody else can take them, so the operator always gets in.
const MANAGEMENT_CONNECTIONS: usize = 1000;
/// How many files the program needs besides connections: storage, logs, calls to the platform.
const OTHER_FILES: usize = 500;

/// Why a service did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// What is stored could not be loaded.
    #[error("stored data cannot be loaded: {0}")]
    Store(#[from] StoreError),
    /// A listener could not be served.
    #[error("a listener cannot be started: {0}")]
    Io(#[from] io::Error),
}

/// Why a service did not stop as it should. It has stopped all the same.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// A listener failed at the end.
    #[error("a listener failed: {0}")]
    Io(#[from] io::Error),
    /// Which sessions were used last could not be written; they count as unused since the last time it was.
    #[error("the use of sessions could not be written back: {0}")]
    Store(#[from] StoreError),
}

/// A running service. It runs until it is stopped, or one of its listeners fails.
pub struct Service {
    public: Listening,
    management: Listening,
    readiness: Arc<ServiceReadiness>,
    background: Background,
    cache: Arc<Cache>,
    scheduler: Arc<dyn Scheduler>,
}

impl Service {
    /// Starts to serve on these listeners. To be called within a tokio runtime.
    pub async fn start(
        configuration: &Configuration,
        composition: Composition,
        listeners: Listeners,
    ) -> Result<Self, StartError> {
        composition.use_cases.following.catch_up().await?;
        let readiness = Arc::new(ServiceReadiness::new(
            composition.ports.stores.health.clone(),
            composition.use_cases.following.clone(),
        ));
        let background = Background::start(&composition);
        let Composition { use_cases, ports, cache, projections, settings, management, metrics } = composition;
        let Ports { clock, entropy, scheduler, .. } = ports;
        let public =
            PublicApi::new((&use_cases).into(), projections, clock.clone(), entropy.clone(), settings);
        let management =
            ManagementApi::new((&use_cases).into(), readiness.clone(), clock, entropy, management)
                .with_metrics(public.metrics())
                .with_metrics(Arc::new(metrics));
        let limits = ServerLimits { drain: PUBLIC_DRAIN, ..server_limits(configuration) };
        let public = serve_public(public, listeners.public, limits)?;
        let limits = ServerLimits {
            drain: MANAGEMENT_DRAIN,
            workers: MANAGEMENT_WORKERS,
            connections: MANAGEMENT_CONNECTIONS,
            connections_per_address: MANAGEMENT_CONNECTIONS,
            ..limits
        };
        let management = serve_management(management, listeners.management, limits)?;
        readiness.open();
        Ok(Self { public, management, readiness, background, cache, scheduler })
    }

    /// Where the public API listens.
    #[must_use]
    pub fn public_address(&self) -> SocketAddr {
        self.public.addr()
    }

    /// Where the management API listens.
    #[must_use]
    pub fn management_address(&self) -> SocketAddr {
        self.management.addr()
    }

    /// Returns when a listener ends by itself, which it never should.
    pub async fn failed(&mut self) -> io::Error {
        let (which, ended) = tokio::select! {
            ended = &mut self.public => ("public", ended),
            ended = &mut self.management => ("management", ended),
        };
        let why = ended.err().map_or_else(|| "it just ended".to_owned(), |error| error.to_string());
        io::Error::other(format!("the {which} listener failed: {why}"))
    }

    /// Stops: not ready any more, requests in flight are finished, and what is noted in memory is written.
    pub async fn stop(self) -> Result<(), StopError> {
        self.readiness.close();
        self.public.stop().await?;
        self.management.stop().await?;
        self.background.stop().await;
        self.scheduler.finish(BACKGROUND_DRAIN).await;
        self.cache.write_uses().await?;
        Ok(())
    }
}

fn server_limits(configuration: &Configuration) -> ServerLimits {
    let usual = ServerLimits::default();
    ServerLimits {
        workers: configuration.http.workers.map_or(usual.workers, std::num::NonZero::get),
        connections: descriptors::allow(
            configuration.limits.connections.get(),
            MANAGEMENT_CONNECTIONS + OTHER_FILES,
        ),
        connections_per_address: configuration.limits.connections_per_address.get(),
        ..usual
    }
}
