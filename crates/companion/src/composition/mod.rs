//! The composition root: chooses adapters, puts use cases on top of them, and knows what no other module knows.
//!
//! To add a storage adapter, give its scheme an arm in `storage.rs`; nothing else changes.

mod identity;
mod key_file;
mod keys;
mod metrics;
mod storage;
mod use_cases;

use self::use_cases::UseCaseSet;
pub(crate) use self::use_cases::vault;
pub use self::{
    keys::Keys,
    storage::{Storage, StoragePorts},
};

use self::metrics::BuildMetrics;
use crate::{
    build_information::build_information,
    configuration::{AddressRange, Configuration, Identity, RedirectUri},
    scheduler::TokioScheduler,
    system::{SystemClock, SystemEntropy},
};
use companion_domain::{
    model::PictureServer,
    port::{BotTelemetry, Clock, Entropy, Health, IdentityProvider, Scheduler},
    usecase::{Following, GiveBack},
};
use companion_http::{
    ManagementKeys, ManagementSettings, MetricsSource, Projections, PublicSettings, Redirects,
    TrustedProxies, UseCases,
};
use std::sync::Arc;

/// The configuration can be read, but not followed.
#[derive(Debug, thiserror::Error)]
pub enum Unserviceable {
    /// It asks for something that this program cannot do, or leaves out what is needed.
    #[error("{0}")]
    Refused(String),
    /// What it asks for did not work.
    #[error("{0}")]
    Failed(String),
}

/// Everything that the outside world is, as the program sees it.
#[derive(Clone)]
pub struct Adapters {
    /// Where everything is kept.
    pub storage: StoragePorts,
    /// Who users are.
    pub identity: Arc<dyn IdentityProvider>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Work beside the requests.
    pub scheduler: Arc<dyn Scheduler>,
    /// What they count.
    pub metrics: Vec<Arc<dyn MetricsSource>>,
}

impl Adapters {
    /// The adapters that the configuration asks for, over this storage. To be called within a tokio runtime.
    pub fn choose(configuration: &Configuration, storage: &Storage) -> Result<Self, Unserviceable> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let identity = identity::choose(configuration, &clock, &entropy)?;
        let metrics = storage.metrics().into_iter().chain(identity.metrics).collect();
        let scheduler = Arc::new(TokioScheduler::here());
        Ok(Self { storage: storage.ports(), identity: identity.provider, clock, entropy, scheduler, metrics })
    }
}

/// A whole service that nobody can reach yet.
pub struct Composition {
    /// What it can do.
    pub use_cases: UseCases,
    /// Gives grants back to the platform.
    pub give_back: Arc<GiveBack>,
    pub(crate) following: Arc<Following>,
    pub(crate) projections: Arc<Projections>,
    pub(crate) settings: PublicSettings,
    pub(crate) management: ManagementSettings,
    pub(crate) telemetry: Arc<dyn BotTelemetry>,
    pub(crate) health: Arc<dyn Health>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) scheduler: Arc<dyn Scheduler>,
    pub(crate) metrics: Vec<Arc<dyn MetricsSource>>,
}

impl Composition {
    /// Puts the use cases on top of the adapters.
    #[must_use]
    pub fn new(configuration: &Configuration, adapters: &Adapters, keys: &Keys) -> Self {
        let UseCaseSet { use_cases, projections, following, give_back } =
            use_cases::compose(configuration, adapters, &keys.ring);
        let settings = settings(configuration);
        let mut metrics = adapters.metrics.clone();
        metrics.push(Arc::new(BuildMetrics(settings.build.clone())));
        Self {
            use_cases,
            give_back,
            following,
            projections,
            settings,
            management: management(configuration, keys),
            telemetry: Arc::clone(&adapters.storage.telemetry),
            health: Arc::clone(&adapters.storage.health),
            clock: Arc::clone(&adapters.clock),
            entropy: Arc::clone(&adapters.entropy),
            scheduler: Arc::clone(&adapters.scheduler),
            metrics,
        }
    }
}

fn management(configuration: &Configuration, keys: &Keys) -> ManagementSettings {
    ManagementSettings {
        keys: ManagementKeys::new(&keys.management),
        body_limit: configuration.limits.body.bytes(),
        access_log: configuration.log.access,
        trusted_proxies: trusted_proxies(configuration.http.trusted_proxies.clone()),
    }
}

fn settings(configuration: &Configuration) -> PublicSettings {
    let Configuration { http, identity, limits, log, .. } = configuration;
    PublicSettings {
        allowed_origins: http.allowed_origins.clone(),
        redirects: redirects(identity),
        sign_out: http.sign_out,
        body_limit: limits.body.bytes(),
        build: build_information(),
        pictures: PictureServer::new(identity.cdn_url.clone()),
        access_log: log.access,
        trusted_proxies: trusted_proxies(http.trusted_proxies.clone()),
        refused_codes_per_minute: limits.refused_codes_per_minute,
    }
}

fn trusted_proxies(ranges: Vec<AddressRange>) -> TrustedProxies {
    TrustedProxies::new(move |address| ranges.iter().any(|range| range.has(address)))
}

fn redirects(identity: &Identity) -> Redirects {
    match &identity.redirect_uri {
        Some(RedirectUri { default, by_origin }) if by_origin.is_empty() => Redirects::One(default.clone()),
        Some(RedirectUri { default, by_origin }) => {
            Redirects::ByOrigin { table: by_origin.iter().cloned().collect(), default: Some(default.clone()) }
        }
        None => Redirects::NotConfigured,
    }
}
