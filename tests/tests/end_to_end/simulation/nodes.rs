//! Two nodes over one store, and the platform.

use super::{ACCESS_LIFETIME, IDLE, LIFETIME, REFRESH_AFTER, STALE_FOR};
use crate::served::{REDIRECT, application, identity, stored_in};
use async_trait::async_trait;
use companion::{
    composition::{Adapters, Composition, Keys, Storage},
    configuration::{Configuration, load},
};
use companion_dev_identity::{Control, DevIdentity, Options, Running};
use companion_domain::{
    model::{Guild, Timestamp, UserId},
    port::{Claimed, Clock, GrantStore, Scheduler, Work},
    usecase::{SignInError, SignInRequest, SignedIn},
};
use companion_testkit::{
    clock::FixedClock, entropy::SeededEntropy, scheduler::TestScheduler, world::a_guild,
};
use std::{net::TcpListener, num::NonZeroU32, sync::Arc, time::Duration};

pub(super) const NODES: usize = 2;
/// All guilds have the bot.
pub(super) const GUILDS: u64 = 40;
/// How long the platform takes for an answer, so that calls at the same time would be seen to be.
const LATENCY: Duration = Duration::from_millis(1);
const SECRET: &str = "sample secret";
const BATCH: NonZeroU32 = NonZeroU32::new(500).unwrap();

pub(super) struct Nodes {
    pub(super) platform: Running,
    pub(super) control: Control,
    clock: Arc<FixedClock>,
    grants: Arc<dyn GrantStore>,
    scheduler: Arc<Hurried>,
    all: [Arc<Composition>; NODES],
}

impl Nodes {
    pub(super) async fn new() -> Self {
        let options = Options {
            clients: vec![application(SECRET)],
            users: Vec::new(),
            access_lifetime: ACCESS_LIFETIME,
            rate_limit: None,
            latency: LATENCY,
            clock_stands_still: true,
            ..Options::default()
        };
        let platform = DevIdentity::start(TcpListener::bind("127.0.0.1:0").unwrap(), options).unwrap();
        let configuration = configuration(&platform);
        let storage = Storage::open(&configuration.storage.url).await.unwrap();
        let (clock, entropy) = (Arc::new(FixedClock::default()), Arc::new(SeededEntropy::default()));
        let keys = Keys::for_one_run(&*entropy);
        let scheduler = Arc::new(Hurried::default());
        let node = || {
            let mut adapters = Adapters::choose(&configuration, &storage).unwrap();
            let time: Arc<dyn Clock> = clock.clone();
            // Each node has its own breakers, limits and connections.
            adapters.identity = identity(&platform, SECRET, Arc::clone(&time));
            (adapters.clock, adapters.entropy) = (time, entropy.clone());
            adapters.scheduler = scheduler.clone();
            Arc::new(Composition::new(&configuration, &adapters, &keys))
        };
        let all = std::array::from_fn(|_| node());
        let (control, grants) = (platform.control(), storage.stores().grants);
        let nodes = Self { control, platform, clock, grants, scheduler, all };
        for id in 1..=GUILDS {
            let guild = Guild { name: format!("{id:03}").parse().unwrap(), ..a_guild(id) };
            nodes.node(0).use_cases.feed.put_guild(&guild).await.unwrap();
        }
        nodes
    }

    pub(super) fn node(&self, number: usize) -> &Arc<Composition> {
        &self.all[number]
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns when nothing goes on in the background any more.
    pub(super) async fn settled(&self) {
        self.scheduler.0.settled().await;
    }

    /// Time passes, here and at the platform. Nothing is under way meanwhile: what takes milliseconds must not take the
    /// hours that pass here in none.
    pub(super) async fn move_to(&self, time: Timestamp) {
        self.settled().await;
        let length = time.since(self.now());
        self.control.forward(length);
        self.clock.advance(length);
    }

    /// Signs a user in on a node.
    pub(super) async fn sign_in(&self, node: usize, user: u64) -> Result<SignedIn, SignInError> {
        let code = self.control.mint_code(user).parse().unwrap();
        let request = SignInRequest::new(code, REDIRECT.parse().unwrap());
        self.node(node).use_cases.sign_in.sign_in(&request).await
    }

    /// Ends the session of a token. False where there is none.
    pub(super) async fn sign_out(&self, node: usize, token: &str) -> bool {
        self.node(node).use_cases.sessions.sign_out(token).await.unwrap().is_some()
    }

    /// Takes the right to refresh a user's list for a while, and does nothing with it. False where there is none to take.
    pub(super) async fn die_with_a_claim(&self, user: u64, length: Duration) -> bool {
        let user = UserId::new(user).unwrap();
        let Some(grant) = self.grants.find(user).await.unwrap() else { return false };
        let until = self.now().after(length);
        self.grants.claim_refresh(user, grant.version, until, None).await.unwrap() == Claimed::Granted
    }

    /// What the service does in the background now and then.
    pub(super) async fn keep_house(&self) {
        for node in &self.all {
            while !node.use_cases.sessions.prune(BATCH).await.unwrap().is_empty() {}
        }
        self.node(0).use_cases.give_back.round(None, BATCH).await.unwrap();
    }
}

/// Lets people wait a tenth of the time, as the clock does not move while they wait.
#[derive(Default)]
struct Hurried(TestScheduler);

#[async_trait]
impl Scheduler for Hurried {
    fn start(&self, work: Work) {
        self.0.start(work);
    }

    async fn pause(&self, length: Duration) {
        self.0.pause(length / 10).await;
    }

    async fn finish(&self, patience: Duration) {
        self.0.finish(patience).await;
    }
}

fn configuration(platform: &Running) -> Configuration {
    let seconds = |length: Duration| format!("{}s", length.as_secs());
    let layers = stored_in("memory:", &platform.api_url(), SECRET)
        .with("COMPANION_GUILDS__REFRESH_AFTER", &seconds(REFRESH_AFTER))
        .with("COMPANION_GUILDS__STALE_FOR", &seconds(STALE_FOR))
        .with("COMPANION_SESSIONS__IDLE", &seconds(IDLE))
        .with("COMPANION_SESSIONS__LIFETIME", &seconds(LIFETIME));
    load(&layers).unwrap().configuration
}
