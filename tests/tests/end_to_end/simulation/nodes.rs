//! Two nodes over one store, the platform with its troubles, and the responses to visitors.

use super::{ACCESS_LIFETIME, Agenda, Chance, Event, IDLE, LIFETIME, REFRESH_AFTER, STALE_FOR};
use crate::served::{REDIRECT, identity, layers, start_platform};
use actix_web::ResponseError as _;
use async_trait::async_trait;
use companion::{
    composition::{Adapters, Composition, Keys, Storage},
    configuration::{Configuration, load},
};
use companion_dev_identity::{Control, ErrorBody, Fault, Options, Route, Running};
use companion_domain::{
    model::{Guild, Timestamp, UserId},
    port::{Claimed, Clock, GrantStore, Record, Scheduler, Work},
    usecase::{AuthenticateError, GuildListing, ListGuildsError, SignInError, SignInRequest, SignedIn},
};
use companion_http::ApiError;
use companion_identity_oauth2::Deadlines;
use companion_testkit::{
    clock::FixedClock, entropy::SeededEntropy, scheduler::TestScheduler, world::a_guild,
};
use std::{
    collections::BTreeSet,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::{sync::watch, task::JoinSet, time::timeout};

pub(super) const NODES: usize = 2;
/// All guilds have the bot.
pub(super) const GUILDS: u64 = 40;
/// Latency of the platform, so that concurrent calls are observable.
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
            access_lifetime: ACCESS_LIFETIME,
            rate_limit: None,
            latency: LATENCY,
            clock_stands_still: true,
            ..Options::default()
        };
        let platform = start_platform(SECRET, options);
        let configuration = configuration(&platform);
        let storage = Storage::open(&configuration.storage.url).await.unwrap();
        let (clock, entropy) = (Arc::new(FixedClock::default()), Arc::new(SeededEntropy::default()));
        let keys = Keys::for_one_run(&*entropy);
        let scheduler = Arc::new(Hurried::default());
        let node = || {
            let mut adapters = Adapters::choose(&configuration, &storage).unwrap();
            let time: Arc<dyn Clock> = clock.clone();
            // Each node has its own breakers, limits and connections.
            adapters.identity = identity(&platform, SECRET, Deadlines::default(), Arc::clone(&time));
            (adapters.clock, adapters.entropy) = (time, entropy.clone());
            adapters.scheduler = scheduler.clone();
            Arc::new(Composition::new(&configuration, &adapters, &keys))
        };
        let all = std::array::from_fn(|_| node());
        let (control, grants) = (platform.control(), storage.stores().grants);
        let nodes = Self { control, platform, clock, grants, scheduler, all };
        for id in 1..=GUILDS {
            let guild = Guild { name: format!("{id:03}").parse().unwrap(), ..a_guild(id) };
            nodes.node(0).use_cases.feed.records.put(Record::Guild(guild.clone())).await.unwrap();
        }
        nodes
    }

    pub(super) fn node(&self, number: usize) -> &Arc<Composition> {
        &self.all[number]
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Waits until no background work is left.
    pub(super) async fn settled(&self) {
        self.scheduler.all.settled().await;
    }

    /// Advances both clocks. No work is in flight meanwhile: an operation of milliseconds must not span the hours that
    /// pass here.
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

    /// Ends the session of a token. Returns false if there is none.
    pub(super) async fn sign_out(&self, node: usize, token: &str) -> bool {
        self.node(node).use_cases.sessions.sign_out(token).await.unwrap().is_some()
    }

    /// Claims the refresh of a user's list for a while, and never releases it. Returns false if the claim fails.
    pub(super) async fn die_with_a_claim(&self, user: u64, length: Duration) -> bool {
        let user = UserId::new(user).unwrap();
        let Some(grant) = self.grants.find(user).await.unwrap() else { return false };
        let until = self.now().after(length);
        self.grants.claim_refresh(user, grant.version, until, None).await.unwrap() == Claimed::Granted
    }

    /// Runs the background work of the service.
    pub(super) async fn keep_house(&self) {
        for node in &self.all {
            while !node.use_cases.sessions.prune(BATCH).await.unwrap().is_empty() {}
        }
        self.node(0).use_cases.revoke_unused.round(None, BATCH).await.unwrap();
    }
}

tokio::task_local! {
    /// Number of pauses in which this task is. More than one if it waits for one of several things.
    static PAUSES: Arc<AtomicUsize>;
}

/// Background tasks, how many of them pause, and when pauses end, in a time that advances only in pauses.
#[derive(Debug, Default)]
struct Works {
    running: usize,
    pausing: usize,
    now: Duration,
    ends: BTreeSet<(Duration, u64)>,
    pauses: u64,
}

/// A scheduler that ends the shortest pause as soon as all background tasks pause: no task waits for real time, and
/// none times out because the machine is busy. Requests wait in real time, with timeouts ten times as long.
#[derive(Default)]
struct Hurried {
    all: TestScheduler,
    works: watch::Sender<Works>,
}

/// Applies a change to the counters on drop.
struct Counted<F: Fn(&mut Works)>(watch::Sender<Works>, F);

impl<F: Fn(&mut Works)> Drop for Counted<F> {
    fn drop(&mut self) {
        self.0.send_modify(&self.1);
    }
}

#[async_trait]
impl Scheduler for Hurried {
    fn start(&self, work: Work) {
        self.works.send_modify(|works| works.running += 1);
        let running = Counted(self.works.clone(), |works| works.running -= 1);
        self.all.start(Box::pin(PAUSES.scope(Arc::default(), async move {
            let _running = running;
            work.await;
        })));
    }

    async fn pause(&self, length: Duration) {
        let Ok(pauses) = PAUSES.try_with(Arc::clone) else {
            return self.all.pause(length * 10).await;
        };
        let mut end = (Duration::ZERO, 0);
        self.works.send_modify(|works| {
            works.pausing += usize::from(pauses.fetch_add(1, SeqCst) == 0);
            works.pauses += 1;
            end = (works.now + length, works.pauses);
            works.ends.insert(end);
        });
        let _pausing = Counted(self.works.clone(), move |works| {
            works.pausing -= usize::from(pauses.fetch_sub(1, SeqCst) == 1);
            works.ends.remove(&end);
        });
        let mut works = self.works.subscribe();
        let is_over = |works: &Works| works.pausing == works.running && works.ends.first() == Some(&end);
        // Real time ends the pause if one task waits for another.
        if timeout(length, works.wait_for(is_over)).await.is_ok() {
            self.works.send_modify(|works| works.now = end.0);
        }
    }

    async fn finish(&self, patience: Duration) {
        self.all.finish(patience).await;
    }
}

fn configuration(platform: &Running) -> Configuration {
    let seconds = |length: Duration| format!("{}s", length.as_secs());
    let layers = layers("memory:", &platform.api_url(), SECRET)
        .with("COMPANION_GUILDS__REFRESH_AFTER", &seconds(REFRESH_AFTER))
        .with("COMPANION_GUILDS__STALE_FOR", &seconds(STALE_FOR))
        .with("COMPANION_SESSIONS__IDLE", &seconds(IDLE))
        .with("COMPANION_SESSIONS__LIFETIME", &seconds(LIFETIME));
    load(&layers).unwrap().configuration
}

const MINUTE: Duration = Duration::from_secs(60);
/// `Retry-After` of the platform's limits, in seconds. A later request is limited again.
const RETRY_AFTER: f64 = 60.0;

/// A kind of trouble of the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trouble {
    /// Connections are refused.
    Refusing,
    /// Every response is an error.
    Failing,
    /// Guild lists are rate-limited, per user.
    LimitingLists,
    /// The token route is rate-limited, for all users.
    LimitingTokens,
    /// All routes are rate-limited.
    LimitingEverything,
}

impl Trouble {
    /// In the order in which they occur.
    const ALL: [Self; 5] =
        [Self::Refusing, Self::LimitingLists, Self::Failing, Self::LimitingEverything, Self::LimitingTokens];

    pub(super) const fn length(self) -> Duration {
        match self {
            Self::Refusing | Self::Failing => MINUTE.saturating_mul(60),
            Self::LimitingLists | Self::LimitingTokens => MINUTE.saturating_mul(20),
            Self::LimitingEverything => MINUTE.saturating_mul(10),
        }
    }

    /// Plans a trouble every few hours until the end.
    pub(super) fn plan(agenda: &mut Agenda, chance: &Chance, from: Timestamp, until: Timestamp) {
        let mut at = from.after(chance.time(3600..2 * 3600));
        for trouble in Self::ALL.into_iter().cycle() {
            let end = at.after(trouble.length());
            if end >= until {
                return;
            }
            agenda.add(at, Event::TroubleBegins(trouble));
            agenda.add(end, Event::TroubleEnds);
            at = end.after(chance.time(2 * 3600..5 * 3600));
        }
    }

    pub(super) async fn begin(self, nodes: &mut Nodes) {
        let limited = |global| Fault::Limited { retry_after: RETRY_AFTER, global };
        let control = nodes.control.clone();
        match self {
            Self::Refusing => nodes.platform.refuse_connections().await,
            Self::Failing => {
                for route in Route::ALL {
                    control.fail(route, Fault::Status { status: 503, body: ErrorBody::Html });
                }
            }
            Self::LimitingLists => control.fail(Route::Guilds, limited(false)),
            Self::LimitingTokens => control.fail(Route::Token, limited(false)),
            Self::LimitingEverything => {
                Route::ALL.iter().for_each(|route| control.fail(*route, limited(true)));
            }
        }
    }

    pub(super) fn end(nodes: &mut Nodes) {
        nodes.control.clear_all();
        nodes.platform.accept_again().unwrap();
    }
}

/// A request for the guilds of a user, who is identified by index.
#[derive(Debug, Clone)]
pub(super) struct Visit {
    pub(super) person: usize,
    pub(super) node: usize,
    pub(super) token: String,
    /// Whether the token's session had already ended.
    pub(super) over: bool,
}

/// The response to a visitor, by its status in the public API.
///
/// The variants are in the order in which they are judged: ended sessions explain other responses of the same moment,
/// and a list shown to one user does not contradict the refusal of another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Answer {
    /// 401: the platform revoked the grant, which ended the session.
    SignedOut,
    /// 401: the session is unknown.
    Unknown,
    /// 503.
    Limited,
    /// 200.
    Shown { guilds: BTreeSet<u64>, age: Duration },
    /// Any other response, which is always wrong.
    Other(String),
}

/// Makes all visits concurrently.
pub(super) async fn visit_all(nodes: &Nodes, visits: Vec<Visit>) -> Vec<(Visit, Answer)> {
    let mut asking = JoinSet::new();
    for visit in visits {
        let node = nodes.node(visit.node).clone();
        asking.spawn(async move {
            let answer = match node.use_cases.authenticate.authenticate(&visit.token).await {
                Ok(session) => heard(node.use_cases.list_guilds.list(session.user).await),
                Err(AuthenticateError::TokenRefused | AuthenticateError::Expired(_)) => Answer::Unknown,
                Err(AuthenticateError::Store(error)) => Answer::Other(error.to_string()),
            };
            (visit, answer)
        });
    }
    let mut answered = asking.join_all().await;
    answered.sort_by(|(_, one), (_, other)| one.cmp(other));
    answered
}

fn heard(listed: Result<GuildListing, ListGuildsError>) -> Answer {
    let error = match listed {
        Ok(listing) => {
            let guilds = listing.guilds().iter().map(|listed| listed.guild.id.get()).collect();
            return Answer::Shown { guilds, age: listing.age };
        }
        Err(error @ ListGuildsError::Store(_)) => return Answer::Other(error.to_string()),
        Err(error) => error,
    };
    let said = error.to_string();
    match ApiError::from(error).status_code().as_u16() {
        401 => Answer::SignedOut,
        503 => Answer::Limited,
        status => Answer::Other(format!("{status}: {said}")),
    }
}
