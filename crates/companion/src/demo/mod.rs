//! The sample world of `companion demo`, on the real components.
//!
//! The service runs unmodified. [`SamplePlatform`] is a real OAuth 2.0 provider with the sample users. The other
//! records are sent over HTTP, as one sync of the management API. `SimulatedBot` reports there periodically, and
//! records change while the demo runs. It also publishes settings and acts by them. [`Demo`] starts all of them. Sample
//! users are named after their roles.

mod bot;
mod guilds;
mod management_client;
mod motion;
mod people;
mod platform;
mod settings;
mod world;

pub use self::{
    management_client::RequestError,
    motion::Pace,
    people::{PEOPLE, Person},
    platform::{SamplePlatform, sign_in_command},
};

use self::{bot::SimulatedBot, management_client::ManagementClient, settings::SampleSettings};
use crate::{
    composition::{Adapters, Composition, CompositionError, Keys, Storage},
    configuration::{self, Configuration, ConfigurationError, Layers, ListenAddress, StorageUrl},
    service::{ListenError, Listeners, Service, StartError},
    system::SystemEntropy,
};
use companion_domain::model::Secret;
use std::{io, net::TcpListener};
use tempfile::TempDir;

/// Returns the `number`th snowflake of the sample world. They differ enough to get different default pictures.
const fn snowflake(number: u64) -> u64 {
    (30_000_000_000 + number * 7_919) << 22
}

/// Returns the picture hash of a sample user. Every third user has none, and gets the platform's default picture.
fn picture_hash(number: u64) -> Option<String> {
    (!number.is_multiple_of(3)).then(|| format!("{:032x}", u128::from(snowflake(number)).pow(2)))
}

/// Interval after which a cluster counts as silent. The default of 90 seconds is too long to watch in a demo.
const SILENT_AFTER: &str = "15s";
/// What the sample bot can do, as inline TOML.
const FEATURES: &str = r#"[
    { title = "Settings in the browser", text = "Change what the bot does without learning a command. It applies within a second." },
    { title = "Permissions that explain themselves", text = "See what you may do in each guild, and why." },
    { title = "Shifts and logs", text = "Who is on duty, for how long, and what they did." },
]"#;
/// The suggested fix if a port is in use. The flag moves all four ports.
const PORT_TAKEN: &str =
    "stop the program that uses it, or choose other ports with --port (0 takes free ones)";

/// A service with a sample world, a platform and a bot, all on loopback.
pub struct Demo {
    /// Both APIs and the dashboard.
    pub service: Service,
    /// The storage of the service.
    pub storage: Storage,
    /// The identity provider.
    pub platform: SamplePlatform,
    /// The key of the management API.
    pub key: Secret,
    /// Contains the database. Removed on drop.
    pub folder: TempDir,
}

impl Demo {
    /// Starts everything on these ports and imports the sample world. Of the given configuration only the log settings
    /// apply.
    pub async fn start(given: &Configuration, ports: DemoPorts, pace: Pace) -> Result<Self, DemoError> {
        on_loopback_only(given)?;
        let layers = Layers::none()
            .with("COMPANION_HTTP__LISTEN", &on_loopback(ports.public).to_string())
            .with("COMPANION_MANAGEMENT__LISTEN", &on_loopback(ports.management).to_string())
            .with("COMPANION_DASHBOARD__LISTEN", &on_loopback(ports.dashboard).to_string())
            .with("COMPANION_DASHBOARD__NAME", "Sample Bot")
            .with("COMPANION_DASHBOARD__TAGLINE", "Shifts, logs and permissions for your roleplay server.")
            .with("COMPANION_DASHBOARD__FEATURES", FEATURES)
            // Works even if the shell's limit of open files is low.
            .with("COMPANION_LIMITS__CONNECTIONS", "500");
        let configuration = configuration::load(&layers)?.configuration;
        // Bind first, so that a port in use is reported without delay.
        let listeners =
            Listeners::bind(&configuration).map_err(|refused| refused.with_fix(PORT_TAKEN.to_owned()))?;
        let address_of =
            |listener: &TcpListener| listener.local_addr().map_err(companion_dev_identity::StartError::from);
        let public = address_of(&listeners.public)?;
        let dashboard = listeners.dashboard.as_ref().map(address_of).transpose()?;
        let dashboard = dashboard.map(|address| format!("http://{address}")).unwrap_or_default();
        let platform = SamplePlatform::start(&on_loopback(ports.provider), public, &dashboard)?;
        let layers = layers
            .with("COMPANION_DASHBOARD__URL", &dashboard)
            .with("COMPANION_TEAM__CATEGORIES", world::CATEGORIES)
            .with("COMPANION_BOT__SILENT_AFTER", SILENT_AFTER);
        let folder =
            tempfile::Builder::new().prefix("companion-demo-").tempdir().map_err(DemoError::Folder)?;

        let mut configuration = configuration::load(&platform.configure(layers))?.configuration;
        configuration.storage.url = StorageUrl::Sqlite(folder.path().join("companion.db"));
        configuration.log.clone_from(&given.log);

        let storage = Storage::open_or_create(&configuration.storage.url, false).await?;
        let keys = Keys::for_one_run(&SystemEntropy);
        let adapters = Adapters::choose(&configuration, &storage)?;
        let composition = Composition::new(&configuration, &adapters, &keys);
        let service = Service::start(&configuration, composition, listeners).await?;

        let key = keys.management.first().cloned().unwrap_or_else(|| Secret::new(String::new()));
        let api = ManagementClient::new(service.management_address(), key.clone());
        let cdn = platform.pictures();
        api.send("POST", "/bot/sync?replace=all", &world::world(adapters.clock.now(), &cdn)).await?;
        tokio::spawn(SampleSettings::publish(api.clone()).await?.keep_applying());
        let bot = SimulatedBot::new(api.clone(), adapters.clock);
        bot.report(0).await?;
        tokio::spawn(bot.keep_reporting(pace.report));
        tokio::spawn(motion::keep_moving(api, cdn, pace.step));
        Ok(Self { service, storage, platform, key, folder })
    }
}

/// Fails if a configured address is not loopback: every client that reaches the demo can sign in as any user.
fn on_loopback_only(given: &Configuration) -> Result<(), DemoError> {
    let asked = [
        ("http.listen", Some(&given.http.listen)),
        ("management.listen", Some(&given.management.listen)),
        ("dashboard.listen", given.dashboard.listen.as_ref()),
    ];
    let refused = asked.into_iter().find_map(|(key, address)| {
        address.filter(|address| !address.is_loopback()).map(|address| (key, address.clone()))
    });
    refused.map_or(Ok(()), |(key, address)| Err(DemoError::NotLoopback { key, address }))
}

fn on_loopback(port: u16) -> ListenAddress {
    ListenAddress { host: "127.0.0.1".to_owned(), port }
}

/// The reason why the demo did not start.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The demo's configuration is invalid.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// A listener of the service cannot be bound.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A configured address is reachable from other machines.
    #[error(
        "{key}: the demo listens on loopback only, and {address} is not: any client that reaches it can sign in as any user\n    \
         fix: leave {key} unset for the demo, and choose its ports with --port"
    )]
    NotLoopback {
        /// The configuration key.
        key: &'static str,
        /// The address.
        address: ListenAddress,
    },
    /// The provider's listener cannot be bound. Its address has no configuration key.
    #[error("the demo's identity provider cannot listen on {address}: {error}\n    fix: {}", PORT_TAKEN)]
    ProviderListen {
        /// The address.
        address: ListenAddress,
        /// The system's error.
        error: io::Error,
    },
    /// The provider did not start.
    #[error("cannot start the demo's identity provider: {0}")]
    Provider(#[from] companion_dev_identity::StartError),
    /// The temporary folder of the database cannot be used.
    #[error("cannot use the temporary folder: {0}")]
    Folder(io::Error),
    /// The service cannot be composed.
    #[error(transparent)]
    Composition(#[from] CompositionError),
    /// The service did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The sample world could not be imported.
    #[error("cannot send the sample world to the management API: {0}")]
    Feed(#[from] RequestError),
}

/// Offset of the dashboard's port from the base port.
const DASHBOARD_OFFSET: u16 = 2;
/// Port of the dashboard without a base port.
const DEFAULT_DASHBOARD_PORT: u16 = 8082;
/// Offset of the identity provider's port from the base port.
const PROVIDER_OFFSET: u16 = 3;
/// Port of the identity provider without a base port.
const DEFAULT_PROVIDER_PORT: u16 = 8083;

/// The ports of the demo. 0 selects a free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoPorts {
    /// Public API.
    pub public: u16,
    /// Management API.
    pub management: u16,
    /// Dashboard.
    pub dashboard: u16,
    /// Identity provider.
    pub provider: u16,
}

impl DemoPorts {
    /// The highest base port that leaves room for all listeners.
    pub const LAST: u16 = u16::MAX - PROVIDER_OFFSET;

    /// Returns the configured ports. If the public port is 0, dashboard and provider use free ports too.
    #[must_use]
    pub const fn configured(given: &Configuration) -> Self {
        let public = given.http.listen.port;
        let (dashboard, provider) =
            if public == 0 { (0, 0) } else { (DEFAULT_DASHBOARD_PORT, DEFAULT_PROVIDER_PORT) };
        Self { public, management: given.management.listen.port, dashboard, provider }
    }

    /// Returns consecutive ports from this one on, or all 0 if it is 0.
    #[must_use]
    pub const fn from(first: u16) -> Self {
        if first == 0 {
            return Self { public: 0, management: 0, dashboard: 0, provider: 0 };
        }
        Self {
            public: first,
            management: first.saturating_add(1),
            dashboard: first.saturating_add(DASHBOARD_OFFSET),
            provider: first.saturating_add(PROVIDER_OFFSET),
        }
    }
}
