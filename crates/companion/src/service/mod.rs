//! A running service: its listeners, its background tasks, and its shutdown.

mod alert;
mod background;
mod clock_monitor;
mod descriptors;
mod key_files;
mod listeners;
mod own_tls;
mod readiness;

pub use self::listeners::{ListenError, Listeners};

use self::{alert::Webhook, background::Background, own_tls::OwnTls, readiness::ServiceReadiness};
use crate::{
    composition::Composition,
    configuration::{Configuration, KeyError},
    system::{ClockError, SystemClock},
};
use companion_cache::Cache;
use companion_dashboard::{Dashboard, serve_dashboard};
use companion_domain::port::{Ports, Scheduler, StoreError};
use companion_http::{MAX_EXCESS_CONNECTIONS, PublicApi, RunningServer, ServerLimits, Socket, serve_public};
use companion_management::{ManagementApi, serve_management};
use std::{future::pending, io, net::SocketAddr, num::NonZero, pin::pin, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep, sleep_until};

/// How long a stopping service still accepts requests, so that a load balancer sees the failing readiness probe first.
const NOTICE_PERIOD: Duration = Duration::from_millis(1500);
/// Deadline of requests in flight, from the start of the shutdown. Those that still wait then are answered without the
/// result.
const LAST_ANSWERS_AFTER: Duration = Duration::from_secs(4);
/// How long background tasks may run after the last request.
const BACKGROUND_DRAIN: Duration = Duration::from_millis(200);
/// Worker threads of the management API, which has few clients.
const MANAGEMENT_WORKERS: usize = 1;
/// Connections reserved for the management API. Idle ones are evicted, so the operator can always connect.
const MANAGEMENT_CONNECTIONS: usize = 2000;
/// Worker threads of the dashboard. Pages are requested one at a time, and rendering one takes less than a millisecond.
const DASHBOARD_WORKERS: usize = 2;
/// Connections reserved for the dashboard.
const DASHBOARD_CONNECTIONS: usize = 2000;

/// Whether a shutdown begins with a notice period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Yes: load balancers must notice that the service is no longer ready.
    Given,
    /// No: the operator who stops it knows.
    Skipped,
}

/// The reason why a service did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The machine's date is before 1970.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// Stored data could not be loaded.
    #[error("stored data cannot be loaded: {0}")]
    Store(#[from] StoreError),
    /// The certificate or its key cannot be used.
    #[error("{0}")]
    Tls(#[from] KeyError),
    /// The client of the webhook cannot be created.
    #[error("alerts cannot be sent: {0}")]
    Alerts(String),
    /// A listener could not be started.
    #[error("a listener cannot be started: {0}")]
    Io(#[from] io::Error),
}

/// A problem during shutdown. The service has stopped nevertheless.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// A listener failed during shutdown.
    #[error("a listener failed: {0}")]
    Io(#[from] io::Error),
    /// The last session uses could not be written. Those sessions count as unused since the previous write.
    #[error("session uses could not be written: {0}")]
    Store(#[from] StoreError),
}

/// A running service. It runs until it is stopped or one of its listeners fails.
pub struct Service {
    public: RunningServer,
    management: RunningServer,
    dashboard: Option<RunningServer>,
    readiness: Arc<ServiceReadiness>,
    background: Background,
    cache: Arc<Cache>,
    scheduler: Arc<dyn Scheduler>,
}

impl Service {
    /// Starts to serve on these listeners. Must be called within a tokio runtime.
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
        let webhook = Webhook::of(configuration).map_err(StartError::Alerts)?;
        let background = Background::start(&composition, own_tls, webhook);
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
        let public =
            PublicApi::new(&use_cases, projections.clone(), clock.clone(), entropy.clone(), settings);
        let dashboard = dashboard.map(|settings| {
            let (sign_ins, clock, entropy) = (public.sign_ins(), clock.clone(), entropy.clone());
            Dashboard::new(&use_cases, projections, sign_ins, clock, entropy, settings)
        });
        metrics.extend(dashboard.as_ref().map(Dashboard::metrics));
        // The dashboard subscribes to changes too, so it is created before this catches up.
        use_cases.dispatcher.catch_up().await?;
        let management = ManagementApi::new(&use_cases, readiness.clone(), clock, entropy, management)
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

    /// Returns the address of the public listener.
    #[must_use]
    pub fn public_address(&self) -> SocketAddr {
        self.public.addr()
    }

    /// Returns the address of the management listener.
    #[must_use]
    pub fn management_address(&self) -> SocketAddr {
        self.management.addr()
    }

    /// Returns the address of the dashboard's listener, or `None` if the dashboard is off.
    #[must_use]
    pub fn dashboard_address(&self) -> Option<SocketAddr> {
        self.dashboard.as_ref().map(RunningServer::addr)
    }

    /// Waits until a listener fails, which does not happen in normal operation.
    pub async fn failed(&mut self) -> io::Error {
        let (which, ended) = tokio::select! {
            ended = &mut self.public => ("public", ended),
            ended = &mut self.management => ("management", ended),
            ended = ended(&mut self.dashboard) => ("dashboard", ended),
        };
        let why =
            ended.err().map_or_else(|| "it stopped without an error".to_owned(), |error| error.to_string());
        io::Error::other(format!("the {which} listener failed: {why}"))
    }

    /// Stops without a notice period.
    pub async fn stop(self) -> Result<(), StopError> {
        self.stop_with(Notice::Skipped).await
    }

    /// Stops gracefully: fails readiness, stops accepting connections, finishes requests in flight and writes buffered
    /// session uses. The management API reports "not ready" until the public listener has stopped.
    pub async fn stop_with(self, notice: Notice) -> Result<(), StopError> {
        let Self { public, management, dashboard, readiness, background, cache, scheduler } = self;
        let deadline = Instant::now() + LAST_ANSWERS_AFTER;
        readiness.close();
        public.close_connections();
        management.close_connections();
        dashboard.iter().for_each(RunningServer::close_connections);
        if notice == Notice::Given {
            sleep(NOTICE_PERIOD).await;
        }
        let overdue = async {
            sleep_until(deadline).await;
            management.cancel_requests();
        };
        let mut user_facing = pin!(async {
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
            ended = &mut user_facing => ended?,
            () = overdue => user_facing.await?,
        }
        management.stop_by(deadline).await?;
        background.stop().await;
        scheduler.finish(BACKGROUND_DRAIN).await;
        cache.write_uses().await?;
        Ok(())
    }
}

/// Waits until the listener ends. Waits for ever if there is none.
async fn ended(listening: &mut Option<RunningServer>) -> io::Result<()> {
    match listening {
        Some(listening) => listening.await,
        None => pending().await,
    }
}

/// Returns the limits of the public, the management and the dashboard listener. The public per-address limit shrinks in
/// proportion to the connections that the descriptors allow. On the other two, one address may have half of the
/// connections.
fn server_limits(configuration: &Configuration, usual: ServerLimits) -> [ServerLimits; 3] {
    let workers = configuration.http.workers.map_or(usual.workers, NonZero::get);
    let wanted = configuration.limits.connections.get();
    let per_address = configuration.limits.connections_per_address.get();
    let dashboard = configuration.dashboard.listen.as_ref().map_or(0, |_| DASHBOARD_CONNECTIONS);
    let most_workers = workers.max(DASHBOARD_WORKERS);
    let ahead = most_workers * (MAX_EXCESS_CONNECTIONS + 1);
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
