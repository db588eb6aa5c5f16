//! A believable sample world on all the real parts: what `companion demo` shows.
//!
//! Nothing here is pretended to the service. [`SamplePlatform`] is a real OAuth 2.0 provider with the sample people on
//! it; the rest of the world reaches the service over HTTP, as one sync of the management API; [`SimulatedBot`] keeps
//! reporting there, and the world moves while one watches. [`Demo`] puts them together. Everyone in the sample has a role for a name.

mod bot;
mod guilds;
mod management_client;
mod motion;
mod people;
mod platform;
mod world;

pub use self::{
    bot::SimulatedBot,
    guilds::SampleRole,
    management_client::{ManagementClient, RequestError},
    motion::Pace,
    people::{Person, people},
    platform::{SamplePlatform, sign_in_command},
};

use self::{
    motion::WorldMotion,
    world::{categories, lines},
};
use crate::{
    composition::{Adapters, Composition, Keys, Storage, Unserviceable},
    configuration::{self, Configuration, Layers, ListenAddress, Mistakes, StorageUrl},
    service::{CannotListen, Listeners, Service, StartError},
    system::SystemEntropy,
};
use companion_domain::model::{Invalid, PictureServer, Secret, Span, User, UserId, WebUrl};
use std::{io, net::TcpListener};
use tempfile::TempDir;

/// The `number`th snowflake of the sample world. They are far enough apart to get different pictures.
const fn snowflake(number: u64) -> u64 {
    (30_000_000_000 + number * 7_919) << 22
}

/// The hash of the picture that belongs to a number. Every third has none, and gets the platform's default.
fn picture_hash(number: u64) -> Option<String> {
    (!number.is_multiple_of(3)).then(|| format!("{:032x}", u128::from(snowflake(number)).pow(2)))
}

/// Someone with a role for a name.
fn sample_user(number: u64, username: &str, name: &str, pictures: &PictureServer) -> Result<User, Invalid> {
    let id = UserId::new(snowflake(number))?;
    let own = picture_hash(number).map(|hash| pictures.avatar(id, &hash));
    let avatar: WebUrl = own.unwrap_or_else(|| pictures.default_picture(id.get())).parse()?;
    Ok(User { id, username: username.parse()?, name: name.parse()?, avatar })
}

/// When a cluster counts as silent.
const SILENT_AFTER: Span = Span::from_seconds(15);
/// How to go on where a port is taken. The flag moves all four.
const PORT_TAKEN: &str =
    "stop the program that uses it, or choose other ports with --port (0 takes free ones)";

/// A service with a sample world, a platform and a bot. All of it is on loopback.
pub struct Demo {
    /// Both APIs and the dashboard, over the sample world.
    pub service: Service,
    /// What the service is kept in.
    pub storage: Storage,
    /// Where users sign in.
    pub platform: SamplePlatform,
    /// Who can sign in.
    pub people: Vec<Person>,
    /// The key of the management API.
    pub key: Secret,
    /// Holds the database. Gone when this is dropped.
    pub folder: TempDir,
}

impl Demo {
    /// Starts everything on these ports, and feeds the sample world. Of what was configured only the log counts.
    pub async fn start(given: &Configuration, ports: DemoPorts, pace: Pace) -> Result<Self, DemoError> {
        on_loopback_only(given)?;
        let layers = Layers::none()
            .with("COMPANION_HTTP__LISTEN", &on_loopback(ports.public).to_string())
            .with("COMPANION_MANAGEMENT__LISTEN", &on_loopback(ports.management).to_string())
            .with("COMPANION_DASHBOARD__LISTEN", &on_loopback(ports.dashboard).to_string())
            .with("COMPANION_DASHBOARD__NAME", "Sample Bot")
            // However few files this shell may open.
            .with("COMPANION_LIMITS__CONNECTIONS", "500");
        let configuration = configuration::load(&layers)?.configuration;
        // Before anything else, so that a port that is taken costs nobody time.
        let listeners =
            Listeners::bind(&configuration).map_err(|refused| refused.with_fix(PORT_TAKEN.to_owned()))?;
        let people = people()?;
        let address_of =
            |listener: &TcpListener| listener.local_addr().map_err(companion_dev_identity::StartError::from);
        let public = address_of(&listeners.public)?;
        let dashboard = listeners.dashboard.as_ref().map(address_of).transpose()?;
        let dashboard = dashboard.map(|address| format!("http://{address}")).unwrap_or_default();
        let platform = SamplePlatform::start(&on_loopback(ports.provider), public, &dashboard, &people)?;
        let layers = layers.with("COMPANION_DASHBOARD__URL", &dashboard);
        let folder =
            tempfile::Builder::new().prefix("companion-demo-").tempdir().map_err(DemoError::Folder)?;

        let mut configuration = configuration::load(&platform.configure(layers))?.configuration;
        configuration.storage.url = StorageUrl::Sqlite(folder.path().join("companion.db"));
        configuration.team.categories = categories()?;
        configuration.log.clone_from(&given.log);
        // Nobody watches for a minute and a half to see that a cluster is silent.
        configuration.bot.silent_after = SILENT_AFTER;

        let storage = Storage::open_or_create(&configuration.storage.url, false).await?;
        let keys = Keys::for_one_run(&SystemEntropy);
        let adapters = Adapters::choose(&configuration, &storage)?;
        let composition = Composition::new(&configuration, &adapters, &keys);
        let service = Service::start(&configuration, composition, listeners).await?;

        let key = keys.management.first().cloned().unwrap_or_else(|| Secret::new(String::new()));
        let api = ManagementClient::new(service.management_address(), key.clone());
        let world = lines(&people, adapters.clock.now(), &platform.pictures()?)?;
        api.send("POST", "/bot/sync?replace=all", &world).await?;
        let motion = WorldMotion::of(&people, api.clone(), adapters.entropy.clone(), platform.pictures()?);
        let bot = SimulatedBot::new(api, adapters.clock, adapters.entropy);
        bot.report().await?;
        tokio::spawn(bot.keep_reporting(pace.report));
        if let Some(motion) = motion {
            tokio::spawn(motion.keep_moving(pace.step));
        }
        Ok(Self { service, storage, platform, people, key, folder })
    }
}

/// Whoever reaches the demo can sign in as anyone, so it refuses to listen where others reach it.
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

/// Why there is no demo.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The sample itself is wrong.
    #[error("the sample world is not valid: {0}")]
    Invalid(#[from] Invalid),
    /// The sample's configuration is wrong.
    #[error(transparent)]
    Configuration(#[from] Mistakes),
    /// A listener of the service cannot be bound.
    #[error(transparent)]
    CannotListen(#[from] CannotListen),
    /// An address is configured that others can reach.
    #[error(
        "{key}: the demo listens on loopback only, and {address} is not: whoever reaches it can sign in as anyone\n    \
         fix: leave {key} unset for the demo, and choose its ports with --port"
    )]
    NotLoopback {
        /// Where it is configured.
        key: &'static str,
        /// The address.
        address: ListenAddress,
    },
    /// The provider's listener cannot be bound. No key has its address.
    #[error("the demo's identity provider cannot listen on {address}: {error}\n    fix: {}", PORT_TAKEN)]
    ProviderCannotListen {
        /// Where it should have been.
        address: ListenAddress,
        /// What the system says.
        error: io::Error,
    },
    /// The provider does not run.
    #[error("cannot start the demo's identity provider: {0}")]
    Provider(#[from] companion_dev_identity::StartError),
    /// There is no place for the temporary database.
    #[error("cannot use the temporary folder: {0}")]
    Folder(io::Error),
    /// The service cannot be put together.
    #[error(transparent)]
    Unserviceable(#[from] Unserviceable),
    /// The service does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The sample world could not be fed.
    #[error("cannot send the sample world to the management API: {0}")]
    Feed(#[from] RequestError),
}

/// The dashboard's place behind the public API's, where one port places them all.
const DASHBOARD: u16 = 2;
/// Where the dashboard listens otherwise.
const USUAL_DASHBOARD: u16 = 8082;
/// The identity provider's place behind the public API's, where one port places them all.
const PROVIDER: u16 = 3;
/// Where the provider listens otherwise.
const USUAL_PROVIDER: u16 = 8083;

/// The ports. 0 takes a free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoPorts {
    /// Of the public API.
    pub public: u16,
    /// Of the management API.
    pub management: u16,
    /// Of the dashboard.
    pub dashboard: u16,
    /// Of the identity provider.
    pub provider: u16,
}

impl DemoPorts {
    /// The last port from which there is room for all of them.
    pub const LAST: u16 = u16::MAX - PROVIDER;

    /// The ports that are configured. A public API that takes a free port takes the dashboard and the provider along.
    #[must_use]
    pub const fn configured(given: &Configuration) -> Self {
        let public = given.http.listen.port;
        let (dashboard, provider) = if public == 0 { (0, 0) } else { (USUAL_DASHBOARD, USUAL_PROVIDER) };
        Self { public, management: given.management.listen.port, dashboard, provider }
    }

    /// One after the other from this port on. From 0, all of them are free ones.
    #[must_use]
    pub const fn from(first: u16) -> Self {
        if first == 0 {
            return Self { public: 0, management: 0, dashboard: 0, provider: 0 };
        }
        Self {
            public: first,
            management: first.saturating_add(1),
            dashboard: first.saturating_add(DASHBOARD),
            provider: first.saturating_add(PROVIDER),
        }
    }
}
