//! The service in this very process, on adapters of the test's choice.

use crate::{http, postgres::stage::until};
use companion::{
    Service,
    composition::{Adapters, Composition, Keys, Storage},
    configuration::{Layers, load},
    service::Listeners,
    system::SystemEntropy,
};
use companion_domain::{
    model::{Roster, TeamMember, Timestamp, User, UserId},
    port::{Clock, Health, Mutation, StoreError},
};
use companion_http::ServerLimits;
use companion_storage_memory::MemoryIdentity;
use std::{
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};
use tokio::runtime::Runtime;

/// What its tokens are signed with.
pub(crate) const KEY: &str = "bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmU=";

/// A service that runs here, and what it runs on.
pub(crate) struct InProcess {
    runtime: Runtime,
    service: Service,
    adapters: Adapters,
    pub(crate) public: String,
    pub(crate) management: String,
}

impl InProcess {
    pub(crate) fn start(adjust: impl FnOnce(&mut Adapters)) -> Self {
        Self::with(&[], ServerLimits::default(), adjust)
    }

    /// A service with these variables and timeouts.
    pub(crate) fn with(
        variables: &[(&str, &str)],
        limits: ServerLimits,
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
        let storage = runtime.block_on(Storage::open(&configuration.storage.url)).unwrap();
        let mut adapters = Adapters::choose(&configuration, &storage).unwrap();
        adjust(&mut adapters);
        let keys = Keys::resolve(&configuration, &SystemEntropy).unwrap();
        let composition = Composition::new(&configuration, &adapters, &keys);
        let listeners = Listeners { limits, ..Listeners::bind(&configuration).unwrap() };
        let service = runtime.block_on(Service::start(&configuration, composition, listeners)).unwrap();
        let (public, management) = (service.public_address(), service.management_address());
        drop(within);
        Self { runtime, service, adapters, public: public.to_string(), management: management.to_string() }
    }

    pub(crate) fn stop(self) {
        self.runtime.block_on(self.service.stop()).unwrap();
    }
}

/// A store that is well as long as it is told to be.
struct Moody(AtomicBool);

#[async_trait::async_trait]
impl Health for Moody {
    async fn check(&self) -> Result<(), StoreError> {
        if self.0.load(Ordering::SeqCst) { Ok(()) } else { Err(StoreError::unavailable("moody")) }
    }
}

/// A clock that the test moves.
struct Hand(AtomicI64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_seconds(self.0.load(Ordering::SeqCst)).unwrap()
    }

    fn monotonic(&self) -> Duration {
        self.now().since(Timestamp::EPOCH)
    }
}

fn someone() -> User {
    User {
        id: UserId::new(7).unwrap(),
        username: "sample_user".parse().unwrap(),
        name: "Sample User".parse().unwrap(),
        avatar: "https://cdn.example/7.png".parse().unwrap(),
    }
}

#[test]
fn readiness_follows_the_store_and_ends_with_the_service() {
    let store = Arc::new(Moody(AtomicBool::new(true)));
    let running = InProcess::start(|adapters| adapters.stores.health = store.clone());
    let (public, management) = (running.public.clone(), running.management.clone());
    let ready = || http::get(&management, "/health/ready", &[]).status;
    assert_eq!(ready(), 200);
    store.0.store(false, Ordering::SeqCst);
    assert_eq!(ready(), 503);
    let told = http::get(&management, "/health/ready", &[]).body["message"].to_string();
    assert!(told.contains("moody"), "{told}");
    // A store that fails is no reason to be restarted, nor to keep silent.
    assert_eq!(http::get(&management, "/health/live", &[]).status, 200);
    assert_eq!(http::get(&public, "/team", &[]).status, 200);
    store.0.store(true, Ordering::SeqCst);
    assert_eq!(ready(), 200);
    running.stop();
    assert!(TcpStream::connect(&public).is_err());
    assert!(TcpStream::connect(&management).is_err());
}

#[test]
fn what_another_process_writes_shows_by_itself() {
    let running = InProcess::start(|_| {});
    let member = TeamMember {
        user: someone(),
        role: "Helper".parse().unwrap(),
        color: "#112233".parse().unwrap(),
        category: "Support".parse().unwrap(),
        position: 1,
    };
    let team = || http::get(&running.public, "/team", &[]).body["data"].as_array().unwrap().len();
    assert_eq!(team(), 0);
    // Straight into the store: no use case of this process hears of it.
    let roster = Roster::new(vec![member]).unwrap();
    running.runtime.block_on(running.adapters.stores.records.write(Mutation::ReplaceTeam(roster))).unwrap();
    until("the team is shown", Duration::from_secs(10), || team() > 0);
    running.stop();
}

#[test]
fn stopping_writes_back_which_sessions_were_used() {
    let clock = Arc::new(Hand(AtomicI64::new(1_000_000)));
    let mut identity = None;
    let running = InProcess::start(|adapters| {
        let platform = Arc::new(MemoryIdentity::new(clock.clone(), adapters.entropy.clone()));
        platform.put_user(someone(), Vec::new());
        adapters.clock = clock.clone();
        adapters.identity = platform.clone();
        identity = Some(platform);
    });
    let code = identity.unwrap().issue_code(someone().id);
    let session = http::ask(&running.public, "POST", "/auth", &[("Idp-Code", &code)]).body;
    clock.0.fetch_add(4000, Ordering::SeqCst);
    let token = session["data"]["token"].as_str().unwrap();
    assert_eq!(http::get(&running.public, "/guilds", &[("Token", token)]).status, 200);
    let sessions = running.adapters.stores.sessions.clone();
    running.stop();
    let stored = Runtime::new().unwrap().block_on(sessions.of_user(someone().id)).unwrap();
    assert_eq!(stored[0].last_seen_at, clock.now());
    assert!(stored[0].last_seen_at > stored[0].created_at);
}
