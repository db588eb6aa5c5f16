//! A platform, and a service in this process that signs users in with it.

use super::client::{Answer, Client};
use companion::{
    Service,
    composition::{Adapters, Composition, Keys, Storage},
    configuration::{Layers, Loaded, load},
    service::Listeners,
    system::SystemEntropy,
};
use companion_dev_identity::{Account, AccountGuild, Control, DevIdentity, Options, Running};
use std::{
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
};
use tempfile::TempDir;

pub(crate) const USER: u64 = 190_000_000_000_000_007;
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
        let storage = Storage::open(&configuration.storage.url).await.unwrap();
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

/// Everything that a sign-in needs.
pub(crate) struct Stage {
    pub(crate) platform: Running,
    pub(crate) control: Control,
    pub(crate) served: Served,
    folder: TempDir,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(&[]).await
    }

    /// A stage whose service has these variables set, too.
    pub(crate) async fn with(variables: &[(&str, &str)]) -> Self {
        let platform = platform(&sample_secret());
        let folder = tempfile::tempdir().unwrap();
        let layers = layers(&platform.api_url(), &sample_secret(), &database(folder.path()));
        let layers = layers.with("COMPANION_LOG__LEVEL", "error");
        let layers = variables.iter().fold(layers, |layers, (name, value)| layers.with(name, value));
        let served = Served::start(&layers, |_| {}).await;
        Self { control: platform.control(), platform, served, folder }
    }

    /// A new code for the usual user.
    pub(crate) fn code(&self) -> String {
        self.control.mint_code(USER)
    }

    pub(crate) async fn sign_in(&self, code: &str) -> Answer {
        Client::connect(self.served.public).await.sign_in(code).await
    }

    pub(crate) async fn stop(self) {
        self.served.stop().await;
        self.platform.stop().await;
        self.folder.close().unwrap();
    }
}

fn sample_secret() -> String {
    // Every kind of character that some encoding treats specially.
    "a b+c%2F:&=?/ü\"'".to_owned()
}

pub(crate) fn platform(secret: &str) -> Running {
    let client = companion_dev_identity::Client {
        id: CLIENT_ID.to_owned(),
        secret: secret.to_owned(),
        redirect_uris: vec![REDIRECT.to_owned()],
    };
    let options = Options { clients: vec![client], users: vec![account(USER)], ..Options::default() };
    DevIdentity::start(TcpListener::bind("127.0.0.1:0").unwrap(), options).unwrap()
}

pub(crate) fn account(id: u64) -> Account {
    let guild = AccountGuild { id: 500, name: "Owls".to_owned(), icon: None, owner: true, permissions: 0 };
    let username = format!("user_{id}");
    Account { id, username, global_name: None, avatar: None, guilds: vec![guild] }
}

pub(crate) fn database(folder: &Path) -> PathBuf {
    folder.join("companion.db")
}

pub(crate) fn layers(api_url: &str, secret: &str, database: &Path) -> Layers {
    Layers::none()
        .with("COMPANION_STORAGE__URL", &format!("sqlite:{}", database.display()))
        .with("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
        .with("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
        .with("COMPANION_IDENTITY__CLIENT_ID", CLIENT_ID)
        .with("COMPANION_IDENTITY__CLIENT_SECRET", secret)
        .with("COMPANION_IDENTITY__REDIRECT_URI", REDIRECT)
        .with("COMPANION_IDENTITY__API_URL", api_url)
}
