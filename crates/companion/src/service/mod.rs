//! A service that runs: its listeners, what happens in the background, and how it ends.

mod background;
mod clock_monitor;
mod descriptors;
mod key_files;
mod listeners;
mod own_tls;
mod readiness;

pub use self::listeners::{CannotListen, Listeners};

use self::{background::Background, own_tls::OwnTls, readiness::ServiceReadiness};
use crate::{
    composition::Composition,
    configuration::{Configuration, Mistake},
    system::{ClockError, SystemClock},
};
use companion_cache::Cache;
use companion_dashboard::{Dashboard, serve_dashboard};
use companion_domain::port::{Ports, Scheduler, StoreError};
use companion_http::{ACCEPTED_AHEAD, Listening, PublicApi, ServerLimits, Socket, serve_public};
use companion_management::{ManagementApi, serve_management};
use std::{future::pending, io, net::SocketAddr, num::NonZero, pin::pin, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep, sleep_until};

/// How long a service that is not ready any more goes on as before, so that a balancer notices and sends nothing new.
const NOTICE: Duration = Duration::from_millis(1500);
/// When requests that still wait are answered without what they wait for, counted from the beginning of the end.
const LAST_ANSWERS_AFTER: Duration = Duration::from_secs(4);
/// How long work beside the requests may take when they are over.
const BACKGROUND_DRAIN: Duration = Duration::from_millis(200);
/// The few who ask the management API need no more threads than this.
const MANAGEMENT_WORKERS: usize = 1;
/// Connections of the management API. No other listener can take them, and idle ones make room, so the operator always gets in.
const MANAGEMENT_CONNECTIONS: usize = 2000;
/// People look at pages one at a time, and rendering one takes less than a millisecond.
const DASHBOARD_WORKERS: usize = 2;
/// Connections of the dashboard.
const DASHBOARD_CONNECTIONS: usize = 2000;

/// Whether anyone has to be told before a service stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Balancers have to notice that it is not ready any more.
    Given,
    /// Whoever stops it knows.
    Skipped,
}

/// Why a service did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The machine's date makes no sense.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// What is stored could not be loaded.
    #[error("stored data cannot be loaded: {0}")]
    Store(#[from] StoreError),
    /// The certificate or its key is of no use.
    #[error("{0}")]
    Tls(#[from] Mistake),
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
    dashboard: Option<Listening>,
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
        SystemClock::check()?;
        composition.use_cases.dispatcher.catch_up().await?;
        let readiness = Arc::new(ServiceReadiness::new(
            composition.ports.stores.health.clone(),
            composition.use_cases.dispatcher.clone(),
        ));
        let own_tls = OwnTls::open(configuration, &composition.ports.clock)?;
        let tls = own_tls.as_ref().map(OwnTls::tls);
        let background = Background::start(&composition, own_tls);
        let Composition {
            use_cases,
            ports,
            cache,
            projections,
            settings,
            management,
            dashboard,
            mut metrics,
            ..
        } = composition;
        let Ports { clock, entropy, scheduler, .. } = ports;
        let public = PublicApi::new(
            (&use_cases).into(),
            projections.clone(),
            clock.clone(),
            entropy.clone(),
            settings,
        );
        let dashboard = dashboard.map(|settings| {
            let (sign_ins, clock, entropy) = (public.sign_ins(), clock.clone(), entropy.clone());
            Dashboard::new((&use_cases).into(), projections, sign_ins, clock, entropy, settings)
        });
        metrics.extend(dashboard.as_ref().map(Dashboard::metrics));
        // The dashboard follows changes too.
        use_cases.dispatcher.catch_up().await?;
        let management =
            ManagementApi::new((&use_cases).into(), readiness.clone(), clock, entropy, management)
                .with_metrics(public.metrics())
                .with_metrics(Arc::new(metrics));
        let [limits, management_limits, dashboard_limits] = server_limits(configuration, listeners.limits);
        let [public_shared, management_shared, dashboard_shared] = listeners.shared;
        let socket = Socket { listener: listeners.public, tls: tls.clone(), shared: public_shared };
        let public = serve_public(public, socket, limits)?;
        let socket = Socket { listener: listeners.management, tls: None, shared: management_shared };
        let management = serve_management(management, socket, management_limits)?;
        let dashboard = match dashboard.zip(listeners.dashboard) {
            Some((dashboard, listener)) => {
                let socket = Socket { listener, tls, shared: dashboard_shared };
                Some(serve_dashboard(dashboard, socket, dashboard_limits)?)
            }
            None => None,
        };
        readiness.open();
        Ok(Self { public, management, dashboard, readiness, background, cache, scheduler })
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

    /// Where the dashboard listens, where it is on.
    #[must_use]
    pub fn dashboard_address(&self) -> Option<SocketAddr> {
        self.dashboard.as_ref().map(Listening::addr)
    }

    /// Returns when a listener ends by itself, which it never should.
    pub async fn failed(&mut self) -> io::Error {
        let (which, ended) = tokio::select! {
            ended = &mut self.public => ("public", ended),
            ended = &mut self.management => ("management", ended),
            ended = ended(&mut self.dashboard) => ("dashboard", ended),
        };
        let why = ended.err().map_or_else(|| "it just ended".to_owned(), |error| error.to_string());
        io::Error::other(format!("the {which} listener failed: {why}"))
    }

    /// Stops, where nobody has to be told before.
    pub async fn stop(self) -> Result<(), StopError> {
        self.stop_with(Notice::Skipped).await
    }

    /// Stops: not ready any more, no new connections, requests in flight are finished, and what is noted in memory is written.
    /// The management API goes on telling that the service is not ready until the public one is done.
    pub async fn stop_with(self, notice: Notice) -> Result<(), StopError> {
        let Self { public, management, dashboard, readiness, background, cache, scheduler } = self;
        let deadline = Instant::now() + LAST_ANSWERS_AFTER;
        readiness.close();
        public.close_connections();
        management.close_connections();
        dashboard.iter().for_each(Listening::close_connections);
        if notice == Notice::Given {
            sleep(NOTICE).await;
        }
        let overdue = async {
            sleep_until(deadline).await;
            management.cancel_requests();
        };
        let mut for_people = pin!(async {
            let dashboard = async {
                match dashboard {
                    Some(dashboard) => dashboard.stop_by(deadline).await,
                    None => Ok(()),
                }
            };
            let (public, dashboard) = tokio::join!(public.stop_by(deadline), dashboard);
            public.and(dashboard)
        });
        tokio::select! {
            ended = &mut for_people => ended?,
            () = overdue => for_people.await?,
        }
        management.stop_by(deadline).await?;
        background.stop().await;
        scheduler.finish(BACKGROUND_DRAIN).await;
        cache.write_uses().await?;
        Ok(())
    }
}

/// Returns when a listener ends, where there is one.
async fn ended(listening: &mut Option<Listening>) -> io::Result<()> {
    match listening {
        Some(listening) => listening.await,
        None => pending().await,
    }
}

/// The limits of the public listener, of the management API's and of the dashboard's. An address has the same part of what
/// there is as `limits` gives it of all, or half of it where only the operator and a few browsers connect.
fn server_limits(configuration: &Configuration, usual: ServerLimits) -> [ServerLimits; 3] {
    let workers = configuration.http.workers.map_or(usual.workers, NonZero::get);
    let wanted = configuration.limits.connections.get();
    let per_address = configuration.limits.connections_per_address.get();
    let dashboard = configuration.dashboard.listen.as_ref().map_or(0, |_| DASHBOARD_CONNECTIONS);
    let most_workers = workers.max(DASHBOARD_WORKERS);
    let ahead = most_workers * (ACCEPTED_AHEAD + 1);
    let [public, management, dashboard] =
        descriptors::divide([wanted, MANAGEMENT_CONNECTIONS, dashboard], ahead);
    let limits = |workers, connections, connections_per_address: usize| ServerLimits {
        workers,
        connections,
        connections_per_address: connections_per_address.max(1),
        ..usual
    };
    [
        limits(workers, public, per_address.saturating_mul(public) / wanted),
        limits(MANAGEMENT_WORKERS, management, management / 2),
        limits(DASHBOARD_WORKERS, dashboard, dashboard / 2),
    ]
}
