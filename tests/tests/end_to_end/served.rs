//! A service of the whole program that runs in this process.

use companion::{
    Service,
    composition::{Adapters, Composition, Keys, Storage},
    configuration::{Layers, Loaded, load},
    service::Listeners,
    system::SystemEntropy,
};
use companion_dev_identity::{Client, Running};
use companion_domain::{
    model::{PictureServer, Secret},
    port::Clock,
};
use companion_identity_oauth2::{Deadlines, Limits, OauthIdentity, Settings};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

pub(crate) const REDIRECT: &str = "https://dashboard.example/callback";
const CLIENT_ID: &str = "123";

/// A service that runs, and what it was made of.
pub(crate) struct Served {
    pub(crate) public: SocketAddr,
    pub(crate) management: SocketAddr,
    pub(crate) adapters: Adapters,
    pub(crate) loaded: Loaded,
    pub(crate) keys: Keys,
    service: Service,
    storage: Storage,
}

impl Served {
    /// Starts what the layers ask for, on the program's own adapters but for what `adjust` replaces.
    pub(crate) async fn start(layers: &Layers, adjust: impl FnOnce(&mut Adapters)) -> Self {
        let loaded = load(layers).unwrap();
        let configuration = &loaded.configuration;
        companion::logging::start(&configuration.log);
        let storage = Storage::open_or_create(&configuration.storage.url, false).await.unwrap();
        let mut adapters = Adapters::choose(configuration, &storage).unwrap();
        adjust(&mut adapters);
        let keys = Keys::resolve(configuration, &SystemEntropy).unwrap();
        let composition = Composition::new(configuration, &adapters, &keys);
        let listeners = Listeners::bind(configuration).unwrap();
        let service = Service::start(configuration, composition, listeners).await.unwrap();
        let (public, management) = (service.public_address(), service.management_address());
        Self { public, management, adapters, loaded, keys, service, storage }
    }

    pub(crate) async fn stop(self) {
        self.service.stop().await.unwrap();
        self.storage.close().await;
    }
}

/// The application that the platform knows us as.
pub(crate) fn application(secret: &str) -> Client {
    Client { id: CLIENT_ID.to_owned(), secret: secret.to_owned(), redirect_uris: vec![REDIRECT.to_owned()] }
}

/// The adapter that the program would choose, but over this clock.
pub(crate) fn identity(platform: &Running, secret: &str, clock: Arc<dyn Clock>) -> Arc<OauthIdentity> {
    identity_within(Deadlines::default(), platform, secret, clock)
}

/// The same with these deadlines.
pub(crate) fn identity_within(
    deadlines: Deadlines,
    platform: &Running,
    secret: &str,
    clock: Arc<dyn Clock>,
) -> Arc<OauthIdentity> {
    let settings = Settings {
        api_url: platform.api_url().parse().unwrap(),
        pictures: PictureServer::new(platform.cdn_url().parse().unwrap()),
        client_id: CLIENT_ID.to_owned(),
        client_secret: Secret::new(secret.to_owned()),
        user_agent: "Companion/test".to_owned(),
        deadlines,
        limits: Limits::default(),
    };
    Arc::new(OauthIdentity::new(&settings, clock).unwrap())
}

pub(crate) fn database(folder: &Path) -> PathBuf {
    folder.join("companion.db")
}

pub(crate) fn layers(api_url: &str, secret: &str, database: &Path) -> Layers {
    stored_in(&format!("sqlite:{}", database.display()), api_url, secret)
}

/// The layers of a service with this storage.
pub(crate) fn stored_in(url: &str, api_url: &str, secret: &str) -> Layers {
    Layers::none()
        .with("COMPANION_STORAGE__URL", url)
        .with("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
        .with("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
        .with("COMPANION_IDENTITY__CLIENT_ID", CLIENT_ID)
        .with("COMPANION_IDENTITY__CLIENT_SECRET", secret)
        .with("COMPANION_IDENTITY__REDIRECT_URI", REDIRECT)
        .with("COMPANION_IDENTITY__API_URL", api_url)
}
