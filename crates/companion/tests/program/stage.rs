//! A platform with its users, and the nodes that serve them.

use crate::{
    http::{self, Answer, Kept},
    program::{Finished, Program, Running},
};
use companion::{
    Service,
    composition::{Adapters, Composition, Keys, Storage},
    configuration::{Layers, StorageUrl, load},
    service::Listeners,
    system::SystemEntropy,
};
use companion_dev_identity::{
    Account, AccountGuild, Client, Control, DevIdentity, Options, Running as Platform,
};
use companion_storage_diesel::{DieselStorage, PostgresOptions};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    net::TcpListener,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub(crate) const REDIRECT: &str = "https://dashboard.example/callback";
/// Signs sessions.
pub(crate) const KEY: &str = "bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmU=";
pub(crate) const MANAGEMENT_KEY: (&str, &str) = ("Authorization", "Bearer the-management-key");
/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Number of users on the platform, numbered from 1.
const USERS: u64 = 20;

/// A platform, and a folder shared by several programs.
pub(crate) struct Stage {
    platform: Platform,
    pub(crate) folder: Arc<TempDir>,
}

/// Starts a platform with these users that knows the service by this redirect URI.
pub(crate) fn platform(redirect: &str, users: Vec<Account>) -> Platform {
    let client = Client { id: "123".into(), secret: "secret".into(), redirect_uris: vec![redirect.into()] };
    let options = Options { clients: vec![client], users, rate_limit: None, ..Options::default() };
    DevIdentity::start(TcpListener::bind("127.0.0.1:0").unwrap(), options).unwrap()
}

impl Program {
    /// Configures the program as the application that the platform knows.
    pub(crate) fn known_to(self, platform: &Platform, redirect: &str) -> Self {
        self.env("COMPANION_IDENTITY__CLIENT_ID", "123")
            .env("COMPANION_IDENTITY__CLIENT_SECRET", "secret")
            .env("COMPANION_IDENTITY__REDIRECT_URI", redirect)
            .env("COMPANION_IDENTITY__API_URL", &platform.api_url())
            .env("COMPANION_IDENTITY__CDN_URL", &platform.cdn_url())
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        let users = (1..=USERS).map(|id| account(id, &[guild_of(id)])).collect();
        Self { platform: platform(REDIRECT, users), folder: Arc::new(TempDir::new().unwrap()) }
    }

    /// Returns the control handle of the platform.
    pub(crate) fn platform(&self) -> Control {
        self.platform.control()
    }

    /// Writes a file into the folder.
    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// Creates a program on this storage, with the settings that all nodes share.
    pub(crate) fn program(&self, arguments: &[&str], storage: &str) -> Program {
        Program::within(&self.folder, arguments)
            .on_free_ports()
            .known_to(&self.platform, REDIRECT)
            .env("COMPANION_STORAGE__URL", storage)
            .env("COMPANION_MANAGEMENT__KEY", "the-management-key")
            .env("COMPANION_SECRETS__KEY", KEY)
            // All clients share one address.
            .env("COMPANION_LIMITS__REFUSED_CODES_PER_MINUTE", "1000000")
            .env("COMPANION_LOG__LEVEL", "error")
    }

    /// Starts a node on this storage.
    pub(crate) fn serve(&self, storage: &str) -> Node {
        Node::of(self.program(&["serve"], storage).start())
    }

    /// Runs a command, asserts success, and returns its output.
    pub(crate) fn done(&self, arguments: &[&str], storage: &str) -> String {
        let finished = self.program(arguments, storage).finish();
        assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.err);
        finished.out
    }
}

/// Returns the id of the guild that a user owns.
pub(crate) fn guild_of(user: u64) -> u64 {
    190_000_000_000_000_000 + user
}

/// Creates a platform user who owns these guilds.
pub(crate) fn account(id: u64, guilds: &[u64]) -> Account {
    let guild =
        |id: &u64| AccountGuild { id: *id, name: "Guild".into(), icon: None, owner: true, permissions: 0 };
    Account {
        id,
        username: format!("user_{id}"),
        global_name: None,
        avatar: None,
        guilds: guilds.iter().map(guild).collect(),
    }
}

/// Returns a guild as the bot reports it.
pub(crate) fn guild(members: u64) -> Value {
    json!({
        "name": "Guild", "icon": null, "members": members, "owner": "1", "setup": true, "linked": false, "roles": {},
    })
}

/// Returns the lines of a sync with these guilds, all with the same content.
pub(crate) fn sync_lines(guilds: impl Iterator<Item = u64>, reported: &Value) -> String {
    let line = |id: u64| {
        let mut line = reported.clone();
        (line["kind"], line["id"]) = (json!("guild"), json!(id.to_string()));
        line.to_string() + "\n"
    };
    guilds.map(line).collect()
}

/// Returns the guilds of an export with their member counts.
pub(crate) fn exported_guilds(exported: &str) -> BTreeMap<u64, u64> {
    let records = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let members =
        |guild: Value| (guild["id"].as_str().unwrap().parse().unwrap(), guild["members"].as_u64().unwrap());
    records.filter(|record| record["kind"] == "guild").map(members).collect()
}

/// A serving program.
pub(crate) struct Node {
    pub(crate) running: Running,
    api: Api,
}

impl Deref for Node {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}

impl Node {
    /// Waits until the program prints its addresses.
    pub(crate) fn of(mut running: Running) -> Self {
        Self { api: Api { public: running.public(), management: running.management() }, running }
    }

    /// Waits until the program is ready.
    pub(crate) fn ready(program: Program) -> Self {
        let node = Self::of(program.start());
        until("ready", Duration::from_secs(60), || node.is_ready());
        node
    }

    /// Stops the node with SIGINT.
    pub(crate) fn stop(self) -> Finished {
        self.running.stop()
    }
}

/// A client of both APIs of a node.
pub(crate) struct Api {
    public: String,
    management: String,
}

impl Api {
    /// Returns `None` if the response is incomplete.
    pub(crate) fn try_get(&self, path: &str) -> Option<Answer> {
        http::send(&self.public, "GET", path, &[], "")
    }

    /// Returns the data of a public response.
    pub(crate) fn get(&self, path: &str) -> Value {
        data(http::get(&self.public, path, &[]))
    }

    pub(crate) fn post(&self, code: &str) -> Answer {
        http::ask(&self.public, "POST", "/auth", &[("Idp-Code", code)])
    }

    /// Returns `None` if the response is incomplete.
    pub(crate) fn try_post(&self, code: &str) -> Option<Answer> {
        http::send(&self.public, "POST", "/auth", &[("Idp-Code", code)], "")
    }

    /// Signs a user in, and returns the token.
    pub(crate) fn sign_in(&self, stage: &Stage, user: u64) -> String {
        let session = data(self.post(&stage.platform().mint_code(user)));
        session["token"].as_str().unwrap().to_owned()
    }

    pub(crate) fn guilds(&self, token: &str) -> Answer {
        http::get(&self.public, "/guilds", &[("Token", token)])
    }

    /// Sends a management request. Returns `None` if the response is incomplete.
    pub(crate) fn try_manage(&self, method: &str, path: &str, body: &str) -> Option<Answer> {
        http::send(&self.management, method, path, &[MANAGEMENT_KEY], body)
    }

    /// Sends a management request, asserts success, and returns its data.
    pub(crate) fn manage(&self, method: &str, path: &str, body: &str) -> Value {
        data(self.try_manage(method, path, body).unwrap())
    }

    pub(crate) fn sign_out(&self, token: &str) {
        data(self.try_sign_out(token).unwrap());
    }

    /// Returns `None` if the response is incomplete.
    pub(crate) fn try_sign_out(&self, token: &str) -> Option<Answer> {
        http::send(&self.management, "POST", "/sessions/sign-out", &[MANAGEMENT_KEY, ("Token", token)], "")
    }

    /// Requests the guilds without waiting for the response.
    pub(crate) fn begin_guilds(&self, token: &str) -> Option<Kept> {
        http::begin(&self.public, "GET", "/guilds", &[("Token", token)], "")
    }

    /// Returns the address of the public API.
    pub(crate) fn public(&self) -> &str {
        &self.public
    }

    /// Returns the address of the management API.
    pub(crate) fn management(&self) -> &str {
        &self.management
    }

    pub(crate) fn is_ready(&self) -> bool {
        http::get(&self.management, "/health/ready", &[]).status == 200
    }
}

/// A service in this process, with its runtime.
pub(crate) struct InProcess {
    runtime: Runtime,
    service: Service,
    pub(crate) adapters: Adapters,
    pub(crate) public: String,
    pub(crate) management: String,
}

impl InProcess {
    /// Starts a service with storage in memory.
    pub(crate) fn start(adjust: impl FnOnce(&mut Adapters)) -> Self {
        Self::over(async |url: &StorageUrl| Storage::open(url).await.unwrap(), &[], adjust)
    }

    /// Starts a node of this stage on a PostgreSQL server, with the timeouts of these options.
    pub(crate) fn node(stage: &Stage, options: PostgresOptions) -> Self {
        let variables = [
            ("COMPANION_IDENTITY__API_URL", &*stage.platform.api_url()),
            ("COMPANION_IDENTITY__CDN_URL", &stage.platform.cdn_url()),
            ("COMPANION_MANAGEMENT__KEY", "the-management-key"),
        ];
        let open = async |_: &StorageUrl| {
            Storage::Diesel(Arc::new(DieselStorage::open_postgres(options).await.unwrap()))
        };
        Self::over(open, &variables, |_| {})
    }

    fn over(
        open: impl AsyncFnOnce(&StorageUrl) -> Storage,
        variables: &[(&str, &str)],
        adjust: impl FnOnce(&mut Adapters),
    ) -> Self {
        let layers = Layers::none()
            .with("COMPANION_STORAGE__URL", "memory:")
            .with("COMPANION_SECRETS__KEY", KEY)
            .with("COMPANION_IDENTITY__CLIENT_ID", "123")
            .with("COMPANION_IDENTITY__CLIENT_SECRET", "secret")
            .with("COMPANION_IDENTITY__REDIRECT_URI", "https://dashboard.example/callback")
            .with("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
            .with("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0");
        let layers = variables.iter().fold(layers, |layers, (name, value)| layers.with(name, value));
        let configuration = load(&layers).unwrap().configuration;
        let runtime = Runtime::new().unwrap();
        let within = runtime.enter();
        let storage = runtime.block_on(open(&configuration.storage.url));
        let mut adapters = Adapters::choose(&configuration, &storage).unwrap();
        adjust(&mut adapters);
        let keys = Keys::resolve(&configuration, &SystemEntropy).unwrap();
        let composition = Composition::new(&configuration, &adapters, &keys);
        let listeners = Listeners::bind(&configuration).unwrap();
        let service = runtime.block_on(Service::start(&configuration, composition, listeners)).unwrap();
        let (public, management) = (service.public_address(), service.management_address());
        drop(within);
        Self { runtime, service, adapters, public: public.to_string(), management: management.to_string() }
    }

    pub(crate) fn api(&self) -> Api {
        Api { public: self.public.clone(), management: self.management.clone() }
    }

    pub(crate) fn stop(self) {
        self.runtime.block_on(self.service.stop()).unwrap();
    }
}

/// Whether the error is `storage_unavailable`, which blames neither the session nor the code.
pub(crate) fn is_unavailable(answer: &Answer) -> bool {
    answer.status == 503 && answer.body["data"]["error"] == "storage_unavailable"
}

/// Feeds seven guilds of its own until a response, which may be missing, ends it or there are enough. Returns the member
/// counts of the acknowledged ones.
pub(crate) fn feed(
    node: &Node,
    first: u64,
    enough: u64,
    written: &AtomicU64,
    is_over: fn(Option<&Answer>) -> bool,
) -> BTreeMap<u64, u64> {
    let mut acknowledged = BTreeMap::new();
    for members in 1..=enough {
        let id = first + members % 7;
        // Without a successful response the write may have been applied or not.
        acknowledged.remove(&id);
        let path = format!("/bot/guilds/{id}");
        let answer = node.try_manage("PUT", &path, &guild(members).to_string());
        if is_over(answer.as_ref()) {
            break;
        }
        data(answer.unwrap());
        acknowledged.insert(id, members);
        written.fetch_add(1, Relaxed);
    }
    acknowledged
}

/// Runs this for each item at the same time, on a thread of its own. Returns the results in the order of the items.
pub(crate) fn each<I: Send, T: Send>(
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> T + Sync,
) -> Vec<T> {
    let work = &work;
    thread::scope(|scope| {
        let working: Vec<_> = items.into_iter().map(|item| scope.spawn(move || work(item))).collect();
        working.into_iter().map(|worked| worked.join().unwrap()).collect()
    })
}

fn data(mut answer: Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["data"].take()
}

/// Polls until the condition holds, and returns how long that took.
pub(crate) fn until(what: &str, within: Duration, mut is_so: impl FnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < within, "not within {within:?}: {what}");
        // Polling without a pause would take the processor from the service.
        thread::park_timeout(POLL_INTERVAL);
    }
    begun.elapsed()
}
