//! A running service: its listeners, its background tasks, and its shutdown.

mod alert;
mod background;
mod clock_monitor;
mod listeners;
mod renewal;

pub use self::listeners::Listeners;

use self::{alert::Webhook, background::Background, listeners::server_limits, renewal::OwnTls};
use crate::{
    composition::Composition,
    configuration::Configuration,
    error::{ProgramError, failed},
    system::SystemClock,
};
use async_trait::async_trait;
use companion_cache::Cache;
use companion_dashboard::{Dashboard, serve_dashboard};
use companion_domain::{
    port::{Health, Ports, Scheduler, StoreError},
    usecase::ChangeDispatcher,
};
use companion_http::{PublicApi, RunningServer, Socket, serve_public};
use companion_management::{ManagementApi, Readiness, serve_management};
use std::{
    future::pending,
    io,
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep, sleep_until};

/// How long a stopping service still accepts requests, so that a load balancer sees the failing readiness probe first.
const NOTICE_PERIOD: Duration = Duration::from_millis(1500);
/// Deadline of requests in flight, from the start of the shutdown. Those that still wait then are answered without the
/// result.
const LAST_ANSWERS_AFTER: Duration = Duration::from_secs(4);
/// How long background tasks may run after the last request.
const BACKGROUND_DRAIN: Duration = Duration::from_millis(200);

/// Whether a shutdown begins with a notice period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Yes: load balancers must notice that the service is no longer ready.
    Given,
    /// No: the operator who stops it knows.
    Skipped,
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
    ) -> Result<Self, ProgramError> {
        let unloaded = |error: StoreError| failed(format_args!("stored data cannot be loaded: {error}"));
        let unserved = |error: io::Error| failed(format_args!("a listener cannot be started: {error}"));
        SystemClock::check().map_err(failed)?;
        let Composition { use_cases, ports, .. } = &composition;
        use_cases.dispatcher.catch_up().await.map_err(unloaded)?;
        let readiness = Arc::new(ServiceReadiness {
            health: ports.stores.health.clone(),
            dispatcher: use_cases.dispatcher.clone(),
            is_open: AtomicBool::new(false),
        });
        let own_tls = OwnTls::open(configuration, &ports.clock).map_err(failed)?;
        let tls = own_tls.as_ref().map(OwnTls::tls);
        let background = Background::start(&composition, own_tls, Webhook::of(configuration)?);
        let Composition { use_cases, ports, cache, projections, mut metrics, .. } = composition;
        let Ports { clock, entropy, scheduler, .. } = ports;
        let (settings, shown) = (composition.settings, projections.clone());
        let public = PublicApi::new(&use_cases, shown, clock.clone(), entropy.clone(), settings);
        let dashboard = composition.dashboard.map(|settings| {
            let (sign_ins, clock, entropy) = (public.sign_ins(), clock.clone(), entropy.clone());
            Dashboard::new(&use_cases, projections, sign_ins, clock, entropy, settings)
        });
        metrics.extend(dashboard.as_ref().map(Dashboard::metrics));
        // The dashboard subscribes to changes too, so it is created before this catches up.
        use_cases.dispatcher.catch_up().await.map_err(unloaded)?;
        let settings = composition.management;
        let management = ManagementApi::new(&use_cases, readiness.clone(), clock, entropy, settings)
            .with_metrics(public.metrics())
            .with_metrics(Arc::new(metrics));
        let [limits, management_limits, dashboard_limits] = server_limits(configuration, listeners.limits);
        let [public_shared, management_shared, dashboard_shared] = listeners.shared;
        let socket = Socket { listener: listeners.public, tls: tls.clone(), shared: public_shared };
        let public = serve_public(public, socket, limits).map_err(unserved)?;
        let socket = Socket { listener: listeners.management, tls: None, shared: management_shared };
        let management = serve_management(management, socket, management_limits).map_err(unserved)?;
        let dashboard = dashboard.zip(listeners.dashboard).map(|(dashboard, listener)| {
            let socket = Socket { listener, tls, shared: dashboard_shared };
            serve_dashboard(dashboard, socket, dashboard_limits).map_err(unserved)
        });
        let dashboard = dashboard.transpose()?;
        readiness.set_open(true);
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
    pub async fn failed(&mut self) -> ProgramError {
        let (which, ended) = tokio::select! {
            ended = &mut self.public => ("public", ended),
            ended = &mut self.management => ("management", ended),
            ended = ended(&mut self.dashboard) => ("dashboard", ended),
        };
        let why = ended.err().map_or("it stopped without an error".to_owned(), |error| error.to_string());
        failed(format_args!("the {which} listener failed: {why}"))
    }

    /// Stops without a notice period.
    pub async fn stop(self) -> Result<(), ProgramError> {
        self.stop_with(Notice::Skipped).await
    }

    /// Stops gracefully: fails readiness, stops accepting connections, finishes requests in flight and writes buffered
    /// session uses. The management API reports "not ready" until the public listener has stopped.
    pub async fn stop_with(self, notice: Notice) -> Result<(), ProgramError> {
        let Self { public, management, dashboard, readiness, background, cache, scheduler } = self;
        let deadline = Instant::now() + LAST_ANSWERS_AFTER;
        readiness.set_open(false);
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
        let unstopped = |error: io::Error| failed(format_args!("a listener failed: {error}"));
        let mut user_facing = pin!(async {
            let dashboard = async {
                match dashboard {
                    Some(dashboard) => dashboard.stop_by(deadline).await,
                    None => Ok(()),
                }
            };
            let (public, dashboard) = tokio::join!(public.stop_by(deadline), dashboard);
            public.and(dashboard).map_err(unstopped)
        });
        tokio::select! {
            ended = &mut user_facing => ended?,
            () = overdue => user_facing.await?,
        }
        management.stop_by(deadline).await.map_err(unstopped)?;
        background.stop().await;
        scheduler.finish(BACKGROUND_DRAIN).await;
        // Otherwise those sessions count as unused since the previous write.
        let unwritten = |error| failed(format_args!("session uses could not be written: {error}"));
        cache.write_uses().await.map_err(unwritten)?;
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

/// Ready if all listeners accept, the store answers and its last write succeeded, and all projections are loaded. Not
/// ready once the service stops.
struct ServiceReadiness {
    health: Arc<dyn Health>,
    dispatcher: Arc<ChangeDispatcher>,
    is_open: AtomicBool,
}

impl ServiceReadiness {
    /// Marks whether all listeners accept.
    fn set_open(&self, is_open: bool) {
        self.is_open.store(is_open, Ordering::Release);
    }
}

#[async_trait]
impl Readiness for ServiceReadiness {
    async fn check(&self) -> Result<(), String> {
        if !self.is_open.load(Ordering::Acquire) {
            return Err("starting or stopping".to_owned());
        }
        if !self.dispatcher.is_loaded() {
            return Err("the public data is not loaded".to_owned());
        }
        self.health.check().await.map_err(|error| format!("{error}: {}", error.cause))
    }
}
