//! The sample world of `companion demo`, on the real components.
//!
//! The service runs unmodified. [`SamplePlatform`] is a real OAuth 2.0 provider with the sample users. The other
//! records are sent over HTTP, as one sync of the management API. `SimulatedBot` reports there periodically, and
//! records change while the demo runs. It also publishes settings and acts by them. [`Demo`] starts all of them. Sample
//! users are named after their roles.

mod bot;
mod management_client;
mod platform;
mod settings;
mod world;

pub use self::{
    bot::Pace,
    management_client::RequestError,
    platform::{SamplePlatform, sign_in_command},
    world::{PEOPLE, Person},
};

use self::{bot::SimulatedBot, management_client::ManagementClient};
use crate::{
    composition::{Adapters, Composition, Keys, Storage},
    configuration::{self, Configuration, Layers, ListenAddress, StorageUrl},
    error::{ProgramError, failed, refused},
    service::{Listeners, Service},
    supervisor::PassedListeners,
    system::SystemEntropy,
};
use companion_domain::model::Secret;
use std::net::TcpListener;
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
    pub async fn start(given: &Configuration, ports: DemoPorts, pace: Pace) -> Result<Self, ProgramError> {
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
        let listeners = Listeners::bind_others(&configuration, PassedListeners::default(), Some(PORT_TAKEN))?;
        let public = listeners.public.local_addr().map_err(failed)?;
        let dashboard = listeners.dashboard.as_ref().map(TcpListener::local_addr).transpose();
        let dashboard = dashboard.map_err(failed)?;
        let dashboard = dashboard.map(|address| format!("http://{address}")).unwrap_or_default();
        let platform = SamplePlatform::start(&on_loopback(ports.provider), public, &dashboard)?;
        let layers = layers
            .with("COMPANION_DASHBOARD__URL", &dashboard)
            .with("COMPANION_TEAM__CATEGORIES", world::CATEGORIES)
            .with("COMPANION_BOT__SILENT_AFTER", SILENT_AFTER);
        let folder = tempfile::Builder::new().prefix("companion-demo-").tempdir();
        let folder =
            folder.map_err(|error| failed(format_args!("cannot use the temporary folder: {error}")))?;

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
        let unsent = |error: RequestError| {
            failed(format_args!("cannot send the sample world to the management API: {error}"))
        };
        let world = world::world(adapters.clock.now(), &cdn);
        api.send("POST", "/bot/sync?replace=all", &world).await.map_err(unsent)?;
        settings::publish(&api).await.map_err(unsent)?;
        tokio::spawn(settings::keep_applying(api.clone()));
        let bot = SimulatedBot::new(api.clone(), adapters.clock);
        bot.report(0).await.map_err(unsent)?;
        tokio::spawn(bot.keep_reporting(pace.report));
        tokio::spawn(bot::keep_moving(api, cdn, pace.step));
        Ok(Self { service, storage, platform, key, folder })
    }
}

/// Fails if a configured address is not loopback: every client that reaches the demo can sign in as any user.
fn on_loopback_only(given: &Configuration) -> Result<(), ProgramError> {
    let asked = [
        ("http.listen", Some(&given.http.listen)),
        ("management.listen", Some(&given.management.listen)),
        ("dashboard.listen", given.dashboard.listen.as_ref()),
    ];
    for (key, address) in asked {
        if let Some(address) = address.filter(|address| !address.is_loopback()) {
            return Err(refused(format_args!(
                "{key}: the demo listens on loopback only, and {address} is not: any client that reaches it can sign in as any \
                 user\n    fix: leave {key} unset for the demo, and choose its ports with --port"
            )));
        }
    }
    Ok(())
}

fn on_loopback(port: u16) -> ListenAddress {
    ListenAddress { host: "127.0.0.1".to_owned(), port }
}

/// The ports of the demo. 0 selects a free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoPorts {
    public: u16,
    management: u16,
    dashboard: u16,
    provider: u16,
}

impl DemoPorts {
    /// The highest base port that leaves room for all listeners.
    pub const LAST: u16 = u16::MAX - 3;

    /// Returns the configured ports, and the usual ones of the dashboard and the provider. If the public port is 0, both
    /// use free ports too.
    #[must_use]
    pub const fn configured(given: &Configuration) -> Self {
        let public = given.http.listen.port;
        let (dashboard, provider) = if public == 0 { (0, 0) } else { (8082, 8083) };
        Self { public, management: given.management.listen.port, dashboard, provider }
    }

    /// Returns consecutive ports from this one on, or all 0 if it is 0.
    #[must_use]
    pub fn from(first: u16) -> Self {
        let next = |distance| if first == 0 { 0 } else { first.saturating_add(distance) };
        Self { public: first, management: next(1), dashboard: next(2), provider: next(3) }
    }
}
