//! The composition root: chooses the adapters and builds the use cases on them.
//!
//! To add a storage adapter, add a variant to `StorageUrl` and to [`Storage`]; the compiler names most matches that
//! lack it.

mod identity;
mod key_file;
mod keys;
mod metrics;
mod storage;

pub(crate) use self::{
    identity::user_agent,
    key_file::{OF_OTHERS, grants_any},
    metrics::ServiceMetrics,
};
pub use self::{
    keys::Keys,
    storage::{Storage, claim_serving_lock},
};
use crate::{
    configuration::{
        AddressRange, Configuration, Dashboard, Identity, Keyring, RedirectUri, ScopedKey, Sessions,
        read_logo,
    },
    error::ProgramError,
    scheduler::TokioScheduler,
    system::{SystemClock, SystemEntropy},
    vault::SealingVault,
};
use companion_cache::{Cache, CacheSettings};
use companion_dashboard::{Appearance, DashboardSettings, PlatformApplication, SigningKeys};
use companion_domain::{
    model::PictureServer,
    port::{Clock, Entropy, IdentityProvider, Ports, Scheduler, Stores, Vault},
    session::{SessionLimits, TokenRing},
    usecase::{ChangeDispatcher, Freshness, Settings, UseCases},
};
use companion_http::{
    BuildInfo, Commit, MetricsSource, Projections, PublicSettings, Redirects, TrustedProxies,
};
use companion_management::{ManagementKeys, ManagementSettings};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

/// The adapters of all ports.
#[derive(Clone)]
pub struct Adapters {
    /// The storage ports.
    pub stores: Stores,
    /// The chat platform, which authenticates users.
    pub identity: Arc<dyn IdentityProvider>,
    /// Wall-clock and monotonic time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Runs background tasks.
    pub scheduler: Arc<dyn Scheduler>,
    /// Metrics of the adapters.
    pub metrics: Vec<Arc<dyn MetricsSource>>,
}

impl Adapters {
    /// Creates the configured adapters over this storage. Must be called within a tokio runtime.
    pub fn choose(configuration: &Configuration, storage: &Storage) -> Result<Self, ProgramError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let (identity, identity_metrics) =
            identity::choose(configuration, &clock, &entropy, storage.platform_pauses())?;
        let metrics = storage.metrics().into_iter().chain(identity_metrics).collect();
        let scheduler = Arc::new(TokioScheduler::here());
        Ok(Self { stores: storage.stores(), identity, clock, entropy, scheduler, metrics })
    }
}

/// A complete service without listeners.
pub struct Composition {
    /// The use cases.
    pub use_cases: UseCases,
    pub(crate) ports: Ports,
    pub(crate) cache: Arc<Cache>,
    pub(crate) projections: Arc<Projections>,
    pub(crate) settings: PublicSettings,
    pub(crate) management: ManagementSettings,
    /// `None` if the dashboard is off.
    pub(crate) dashboard: Option<DashboardSettings>,
    pub(crate) metrics: Vec<Arc<dyn MetricsSource>>,
    /// Updated by the background task that counts sessions.
    pub(crate) service_metrics: Arc<ServiceMetrics>,
    /// Management keys that are read from files.
    pub(crate) key_files: Vec<ScopedKey>,
}

impl Composition {
    /// Builds the use cases on the adapters.
    #[must_use]
    pub fn new(configuration: &Configuration, adapters: &Adapters, keys: &Keys) -> Self {
        let Adapters { stores, identity, clock, entropy, scheduler, mut metrics } = adapters.clone();
        let vault = vault(&keys.ring, &entropy);
        let mut ports = Ports { stores, identity, vault, clock, entropy, scheduler };
        let dispatcher = ChangeDispatcher::of(&ports);
        let domain = use_case_settings(configuration, &keys.ring);
        let cache =
            Arc::new(Cache::around(&mut ports, &dispatcher, cache_settings(configuration, domain.limits)));
        let use_cases = UseCases::with_dispatcher(dispatcher, &ports, domain);
        let projections = Projections::of(&use_cases, ports.scheduler.clone());
        let settings = public_settings(configuration);
        let service_metrics = Arc::new(ServiceMetrics {
            cache: cache.clone(),
            dispatcher: use_cases.dispatcher.clone(),
            refresh: use_cases.list_guilds.refresh.clone(),
            build: settings.build.clone(),
            started_at: ports.clock.now(),
            sessions: Mutex::default(),
        });
        metrics.push(service_metrics.clone());
        Self {
            use_cases,
            ports,
            cache,
            projections,
            settings,
            management: management(configuration, keys),
            dashboard: dashboard(configuration, keys),
            metrics,
            service_metrics,
            key_files: configuration.management.keys.in_files(),
        }
    }
}

fn management(configuration: &Configuration, keys: &Keys) -> ManagementSettings {
    ManagementSettings {
        keys: ManagementKeys::new(&keys.management).with(keys.scoped.iter().cloned()),
        body_limit: configuration.limits.body.bytes(),
        access_log: configuration.log.access,
        trusted_proxies: trusted_proxies(configuration.http.trusted_proxies.clone()),
    }
}

fn dashboard(configuration: &Configuration, keys: &Keys) -> Option<DashboardSettings> {
    let Configuration { http, identity, sessions, limits, log, .. } = configuration;
    // A logo that cannot be read was reported by the check of the configuration.
    let logo = read_logo(&configuration.dashboard).ok().flatten();
    let Dashboard {
        listen, url, name, invite_url, support_url, permissions, tagline, accent, features, ..
    } = configuration.dashboard.clone();
    listen?;
    let application = identity.client_id.as_ref().filter(|_| identity.client_secret.is_some());
    Some(DashboardSettings {
        url: url?.0,
        name: name.0,
        invite_url,
        support_url,
        permissions,
        appearance: Appearance {
            tagline: tagline.map(|tagline| tagline.0.to_string()),
            logo,
            accent,
            features: features.0,
        },
        platform: application.map(|id| PlatformApplication {
            authorize_url: identity.authorize_url.clone(),
            client_id: id.as_str().to_owned(),
        }),
        cdn_url: identity.cdn_url.clone(),
        session_lifetime: sessions.lifetime,
        keys: SigningKeys::new(&keys.ring.first, &keys.ring.others),
        body_limit: limits.body.bytes(),
        access_log: log.access,
        tls: http.tls_certificate.is_some(),
        trusted_proxies: trusted_proxies(http.trusted_proxies.clone()),
    })
}

fn public_settings(configuration: &Configuration) -> PublicSettings {
    let Configuration { http, identity, limits, log, .. } = configuration;
    PublicSettings {
        allowed_origins: http.allowed_origins.clone(),
        redirects: redirects(identity),
        sign_out: http.sign_out,
        guild_settings: http.settings,
        body_limit: limits.body.bytes(),
        build: build_information(),
        pictures: PictureServer::new(identity.cdn_url.clone()),
        access_log: log.access,
        tls: http.tls_certificate.is_some(),
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

pub(crate) fn use_case_settings(configuration: &Configuration, keys: &Keyring) -> Settings {
    let Configuration { sessions, guilds, identity, team, bot, .. } = configuration;
    Settings {
        tokens: TokenRing::new(&keys.first, &keys.others),
        limits: session_limits(sessions),
        keep_tokens: identity.keep_tokens,
        freshness: Freshness { refresh_after: guilds.refresh_after, stale_for: guilds.stale_for },
        categories: team.categories.clone(),
        silent_after: bot.silent_after,
    }
}

pub(crate) fn session_limits(sessions: &Sessions) -> SessionLimits {
    SessionLimits { lifetime: sessions.lifetime, idle: sessions.idle, per_user: sessions.per_user }
}

/// Returns a vault that seals with the first key of the ring and opens with all of them.
pub(crate) fn vault(keys: &Keyring, entropy: &Arc<dyn Entropy>) -> Arc<dyn Vault> {
    Arc::new(SealingVault::new(&keys.first, &keys.others, Arc::clone(entropy)))
}

/// Returns the version, and the branch and commit of the build if known.
fn build_information() -> BuildInfo {
    BuildInfo {
        name: env!("CARGO_PKG_VERSION").to_owned(),
        branch: env!("COMPANION_BUILD_BRANCH").to_owned(),
        commit: Commit {
            sha: env!("COMPANION_BUILD_SHA").to_owned(),
            message: env!("COMPANION_BUILD_MESSAGE").to_owned(),
            author: env!("COMPANION_BUILD_AUTHOR").to_owned(),
            timestamp: env!("COMPANION_BUILD_TIMESTAMP").parse().unwrap_or(0),
        },
    }
}

/// Upper bound of the interval at which session uses are written.
const MAX_WRITE_INTERVAL: Duration = Duration::from_secs(30);
/// Lower bound of that interval, below which polling gains nothing.
const MIN_WRITE_INTERVAL: Duration = Duration::from_millis(10);

/// Returns the interval at which session uses are written.
pub(crate) fn write_interval(limits: SessionLimits) -> Duration {
    limits.grain().clamp(MIN_WRITE_INTERVAL, MAX_WRITE_INTERVAL)
}

fn cache_settings(configuration: &Configuration, limits: SessionLimits) -> CacheSettings {
    CacheSettings {
        // An eighth is reserved for what is not counted: rounding and fragmentation of the allocator.
        memory: configuration.cache.memory.bytes() as u64 / 8 * 7,
        // The age of a use that is not recorded yet, plus one that is recorded but not written.
        use_lag: limits.grain() + write_interval(limits),
    }
}
