//! A service of the whole program in this process, and a minimal keep-alive HTTP client.

use companion::{
    Service,
    composition::{Adapters, Composition, Keys, Storage},
    configuration::{Layers, Loaded, load},
    service::Listeners,
    system::SystemEntropy,
};
use companion_dev_identity::{Account, AccountGuild, Client as Application, DevIdentity, Options, Running};
use companion_domain::{
    model::{PictureServer, Secret},
    port::Clock,
};
use companion_identity_oauth2::{Deadlines, Limits, OauthIdentity, Settings};
use companion_storage_memory::MemoryStorage;
use serde_json::Value;
use std::{
    net::{SocketAddr, TcpListener},
    sync::Arc,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

pub(crate) const REDIRECT: &str = "https://dashboard.example/callback";
const CLIENT_ID: &str = "123";

/// A running service, and its parts.
pub(crate) struct Served {
    pub(crate) public: SocketAddr,
    pub(crate) management: SocketAddr,
    pub(crate) loaded: Loaded,
    pub(crate) keys: Keys,
    service: Service,
    storage: Storage,
}

impl Served {
    /// Starts the configured service on the program's own adapters, except those that `adjust` replaces.
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
        Self { public, management, loaded, keys, service, storage }
    }

    pub(crate) async fn stop(self) {
        self.service.stop().await.unwrap();
        self.storage.close().await;
    }
}

/// Starts a platform on loopback that knows us by this secret.
pub(crate) fn start_platform(secret: &str, options: Options) -> Running {
    let application = Application {
        id: CLIENT_ID.to_owned(),
        secret: secret.to_owned(),
        redirect_uris: vec![REDIRECT.to_owned()],
    };
    let options = Options { clients: vec![application], ..options };
    DevIdentity::start(TcpListener::bind("127.0.0.1:0").unwrap(), options).unwrap()
}

/// Returns a platform user who owns these guilds.
pub(crate) fn account(id: u64, guilds: Vec<AccountGuild>) -> Account {
    Account { id, username: format!("user_{id}"), global_name: None, avatar: None, guilds }
}

/// Returns a guild of its owner, named after its id.
pub(crate) fn owned(id: u64) -> AccountGuild {
    AccountGuild { id, name: id.to_string(), icon: None, owner: true, permissions: 0 }
}

/// Returns the adapter that the program would choose, with this clock and these deadlines.
pub(crate) fn identity(
    platform: &Running,
    secret: &str,
    deadlines: Deadlines,
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
    Arc::new(OauthIdentity::new(&settings, clock, Arc::new(MemoryStorage::new())).unwrap())
}

/// Returns the layers of a service with this storage.
pub(crate) fn layers(storage: &str, api_url: &str, secret: &str) -> Layers {
    Layers::none()
        .with("COMPANION_STORAGE__URL", storage)
        .with("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
        .with("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
        .with("COMPANION_IDENTITY__CLIENT_ID", CLIENT_ID)
        .with("COMPANION_IDENTITY__CLIENT_SECRET", secret)
        .with("COMPANION_IDENTITY__REDIRECT_URI", REDIRECT)
        .with("COMPANION_IDENTITY__API_URL", api_url)
}

/// A raw response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn data(&self) -> Value {
        let body: Value = serde_json::from_str(&self.body).unwrap();
        body["data"].clone()
    }

    /// Returns the token of the created session.
    pub(crate) fn token(&self) -> String {
        self.data()["token"].as_str().unwrap().to_owned()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

pub(crate) struct Client {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self { address, stream: open(address).await }
    }

    /// Sends a request without a body.
    pub(crate) async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let address = self.address;
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\n{headers}\r\n");
        self.stream.write_all(request.as_bytes()).await.unwrap();
        let answer = self.receive().await;
        if answer.header("Connection").is_some_and(|connection| connection.eq_ignore_ascii_case("close")) {
            self.stream = open(self.address).await;
        }
        answer
    }

    async fn receive(&mut self) -> Answer {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = self.stream.read_line(&mut head).await.unwrap();
            assert_ne!(read, 0, "the connection ended after {head:?}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Answer { status, head, body: String::new() };
        let mut body = vec![0; answer.header("Content-Length").unwrap().parse().unwrap()];
        self.stream.read_exact(&mut body).await.unwrap();
        answer.body = String::from_utf8(body).unwrap();
        answer
    }
}

async fn open(address: SocketAddr) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    BufReader::new(stream)
}
