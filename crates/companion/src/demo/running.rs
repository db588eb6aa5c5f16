//! The demo, running.

use super::{
    DemoError, DemoPorts, ManagementClient, Person, SamplePlatform, SimulatedBot, people,
    world::{categories, lines},
};
use crate::{
    composition::{Adapters, Composition, Keys, Storage},
    configuration::{self, Configuration, Layers, ListenAddress, StorageUrl},
    service::{Listeners, Service},
    system::SystemEntropy,
};
use companion_domain::model::Secret;
use std::net::TcpListener;
use tempfile::TempDir;

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
    pub async fn start(given: &Configuration, ports: DemoPorts) -> Result<Self, DemoError> {
        let layers = Layers::none()
            .with("COMPANION_HTTP__LISTEN", &on_loopback(ports.public).to_string())
            .with("COMPANION_MANAGEMENT__LISTEN", &on_loopback(ports.management).to_string())
            .with("COMPANION_DASHBOARD__LISTEN", &on_loopback(ports.dashboard).to_string())
            .with("COMPANION_DASHBOARD__NAME", "Sample Bot");
        let configuration = configuration::load(&layers)?.configuration;
        // Before anything else, so that a port that is taken costs nobody time.
        let listeners = Listeners::bind(&configuration)?;
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

        let storage = Storage::open_or_create(&configuration.storage.url, false).await?;
        let keys = Keys::for_one_run(&SystemEntropy);
        let adapters = Adapters::choose(&configuration, &storage)?;
        let composition = Composition::new(&configuration, &adapters, &keys);
        let service = Service::start(&configuration, composition, listeners).await?;

        let key = keys.management.first().cloned().unwrap_or_else(|| Secret::new(String::new()));
        let api = ManagementClient::new(service.management_address(), key.clone());
        let world = lines(&people, adapters.clock.now(), &platform.pictures()?)?;
        api.send("POST", "/bot/sync?replace=all", &world).await?;
        let bot = SimulatedBot::new(api, adapters.clock, adapters.entropy);
        bot.report().await?;
        tokio::spawn(bot.keep_reporting());
        Ok(Self { service, storage, platform, people, key, folder })
    }
}

fn on_loopback(port: u16) -> ListenAddress {
    ListenAddress { host: "127.0.0.1".to_owned(), port }
}
