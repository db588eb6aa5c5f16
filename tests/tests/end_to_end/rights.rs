//! Which guilds a user sees, and from when on.
//!
//! Each test runs the whole program in this process: a SQLite file, the OAuth adapter against a real server on
//! loopback, data fed through the management API, and controlled clocks on both sides. The rules themselves are tested
//! in `companion_domain`, and the use cases in `companion_testkit`.

use crate::served::{Answer, Client, Served, application, database, identity, layers, start_platform};
use companion::configuration::Layers;
use companion_dev_identity::{Account, AccountGuild, Control, ErrorBody, Fault, Options, Route, Running};
use companion_domain::{
    model::UserId,
    port::{Clock as _, GrantContent, Sealed},
};
use companion_testkit::clock::FixedClock;
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tempfile::TempDir;

const USER: u64 = 190_000_000_000_000_007;
const OTHER: u64 = 190_000_000_000_000_008;
const GUILD: u64 = 500;
/// Age at which a list is refreshed.
const REFRESH_AFTER: Duration = Duration::from_secs(60);
/// Just before that age.
const JUST_FRESH: Duration = Duration::from_millis(59_999);
/// The remainder.
const REMAINDER: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(60 * 60);
/// Maximum age of a list while the platform is unavailable.
const STALE_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// After this time no claim and no open breaker prevents another attempt.
const NEXT_TRY: Duration = Duration::from_secs(31);
/// Changes of one node show on the other within a second; this allows for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);

const SECRET: &str = "sample secret";
const MANAGEMENT_KEY: &str = "sample-management-key";

/// A service, and its clock.
struct Node {
    served: Served,
    clock: Arc<FixedClock>,
}

/// A node, a platform and their controls. The bot is in one guild.
struct Stage {
    platform: Running,
    control: Control,
    node: Node,
    layers: Layers,
    _folder: TempDir,
}

/// A listing as a user sees it.
struct Shown {
    guilds: Vec<Value>,
    /// In whole seconds.
    age: u64,
}

impl Shown {
    fn of(answer: &Answer) -> Self {
        assert_eq!(answer.status, 200, "{}", answer.body);
        let age = answer.header("Age").unwrap().parse().unwrap();
        Self { guilds: answer.data().as_array().unwrap().clone(), age }
    }

    fn names(&self) -> Vec<&str> {
        self.guilds.iter().map(|guild| guild["name"].as_str().unwrap()).collect()
    }
}

/// Returns a guild as the platform lists it for its owner.
fn owned(id: u64) -> AccountGuild {
    AccountGuild { id, name: "As the platform calls it".to_owned(), icon: None, owner: true, permissions: 0 }
}

/// Returns a guild as the bot reports it.
fn reported(id: u64) -> Value {
    json!({"name": id.to_string(), "icon": null, "members": 1, "owner": "42", "setup": false, "linked": false, "roles": {}})
}

impl Node {
    async fn start(layers: &Layers, platform: &Running, clock: FixedClock) -> Self {
        let clock = Arc::new(clock);
        let identity = identity(platform, SECRET, clock.clone());
        let served = Served::start(layers, |adapters| {
            adapters.clock = clock.clone();
            adapters.identity = identity;
        })
        .await;
        Self { served, clock }
    }

    async fn sign_in(&self, code: &str) -> String {
        let answer = Client::connect(self.served.public).await.sign_in(code).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.token()
    }

    /// Sends `GET /guilds`.
    async fn ask(&self, token: &str) -> Answer {
        Client::connect(self.served.public).await.send("GET", "/guilds", &[("Token", token)]).await
    }

    /// Returns the current listing of the session's user.
    async fn shown(&self, token: &str) -> Shown {
        Shown::of(&self.ask(token).await)
    }

    /// Like [`Self::shown`], but waits until the list has just been fetched. On a slow machine a refresh may take
    /// longer than a request waits; the session must stay valid meanwhile.
    async fn shown_afresh(&self, token: &str) -> Shown {
        let begun = Instant::now();
        loop {
            let answer = self.ask(token).await;
            assert_ne!(answer.status, 401, "{}", answer.body);
            if answer.status == 200 && answer.header("Age") == Some("0") {
                return Shown::of(&answer);
            }
            assert!(begun.elapsed() < TIMEOUT, "the list is not fetched again");
        }
    }

    /// Sends a request to the management API.
    async fn manage(&self, method: &str, path: &str, body: &str) -> Value {
        let bearer = format!("Bearer {MANAGEMENT_KEY}");
        let mut client = Client::connect(self.served.management).await;
        let answer = client.send_with(method, path, &[("Authorization", &bearer)], body).await;
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
        answer.data()
    }

    /// Returns how many sessions of the user the management API lists.
    async fn sessions(&self, user: u64) -> usize {
        self.manage("GET", &format!("/sessions?user={user}"), "").await.as_array().unwrap().len()
    }

    /// Returns the memory that `GET /` reports.
    async fn memory(&self) -> f64 {
        let answer = Client::connect(self.served.public).await.send("GET", "/", &[]).await;
        answer.data()["resources"]["memory"].as_f64().unwrap()
    }

    /// Waits until `GET /` reports this memory.
    async fn shows_memory(&self, memory: f64) {
        let begun = Instant::now();
        while (self.memory().await - memory).abs() > 0.001 {
            assert!(begun.elapsed() < TIMEOUT, "it does not show {memory}");
        }
    }

    async fn stored(&self, user: u64) -> GrantContent {
        self.served.adapters.stores.grants.find(id(user)).await.unwrap().unwrap().content
    }

    async fn store(&self, user: u64, content: &GrantContent) {
        self.served.adapters.stores.grants.replace(id(user), content).await.unwrap();
    }
}

fn id(user: u64) -> UserId {
    UserId::new(user).unwrap()
}

impl Stage {
    /// Creates a stage whose service has these variables set.
    async fn with(variables: &[(&str, &str)]) -> Self {
        let platform = start_platform(Options {
            clients: vec![application(SECRET)],
            users: Vec::new(),
            clock_stands_still: true,
            ..Options::default()
        });
        let folder = tempfile::tempdir().unwrap();
        let layers = layers(&platform.api_url(), SECRET, &database(folder.path()))
            .with("COMPANION_LOG__LEVEL", "error")
            .with("COMPANION_HTTP__WORKERS", "1")
            .with("COMPANION_MANAGEMENT__KEY", MANAGEMENT_KEY);
        let layers = variables.iter().fold(layers, |layers, (name, value)| layers.with(name, value));
        let node = Node::start(&layers, &platform, FixedClock::default()).await;
        let stage = Self { control: platform.control(), platform, node, layers, _folder: folder };
        stage.reports(GUILD).await;
        stage
    }

    /// Creates a stage with a signed-in owner of the guild.
    async fn with_owner() -> (Self, String) {
        let stage = Self::with(&[]).await;
        let token = stage.arrives(USER, &[GUILD]).await;
        (stage, token)
    }

    /// Advances both clocks.
    fn pass(&self, length: Duration) {
        self.node.clock.advance(length);
        self.control.forward(length);
    }

    /// Creates a platform user who owns these guilds, and signs the user in. Returns the token.
    async fn arrives(&self, user: u64, guilds: &[u64]) -> String {
        let (username, guilds) = (format!("user_{user}"), guilds.iter().copied().map(owned).collect());
        self.control.put_user(Account { id: user, username, global_name: None, avatar: None, guilds });
        self.signs_in(user).await
    }

    async fn signs_in(&self, user: u64) -> String {
        self.node.sign_in(&self.control.mint_code(user)).await
    }

    /// Reports a guild, as the bot does.
    async fn reports(&self, guild: u64) {
        self.node.manage("PUT", &format!("/bot/guilds/{guild}"), &reported(guild).to_string()).await;
    }

    async fn stop(self) {
        self.node.served.stop().await;
        self.platform.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_come_from_the_platform_and_are_refreshed_each_minute() {
    let (stage, token) = Stage::with_owner().await;
    let calls = stage.control.all_calls();
    stage.control.set_guilds(USER, vec![owned(501)]);
    stage.pass(Duration::from_millis(41_700));
    // Data from the bot shows at once, and does not reset the age of the platform's list.
    stage.reports(501).await;
    let shown = stage.node.shown(&token).await;
    assert_eq!((shown.names(), shown.age), (vec!["500"], 41));
    stage.pass(JUST_FRESH - Duration::from_millis(41_700));
    assert_eq!(stage.node.shown(&token).await.age, 59);
    assert_eq!(stage.control.all_calls(), calls, "a list younger than a minute costs no call");
    stage.pass(REMAINDER);
    assert_eq!(stage.node.shown_afresh(&token).await.names(), ["501"]);
    assert_eq!(stage.control.calls(Route::Guilds), calls[&Route::Guilds] + 1);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shows_all_guilds_of_a_user_across_pages() {
    let stage = Stage::with(&[]).await;
    let lines: String = (1..=450_u64)
        .map(|number| {
            let mut line = reported(number << 22);
            (line["kind"], line["id"]) = (json!("guild"), json!((number << 22).to_string()));
            line["name"] = json!(format!("{number:05}"));
            format!("{line}\n")
        })
        .collect();
    stage.node.manage("POST", "/bot/sync", &lines).await;
    // A full page may be the last one or not; only another request tells.
    for (user, count, pages) in [(1, 199, 1), (2, 200, 2), (3, 450, 3)] {
        let before = stage.control.calls(Route::Guilds);
        let guilds: Vec<_> = (1..=count).map(|number| number << 22).collect();
        let token = stage.arrives(user, &guilds).await;
        assert_eq!(stage.control.calls(Route::Guilds) - before, pages);
        let expected: Vec<_> = (1..=count).map(|number| format!("{number:05}")).collect();
        assert_eq!(stage.node.shown(&token).await.names(), expected);
    }
    stage.stop().await;
}

/// The cached list is served with its age until it is a day old, then 503 until the platform is back.
#[tokio::test(flavor = "multi_thread")]
async fn serves_the_last_list_for_a_day_without_the_platform() {
    let (mut stage, token) = Stage::with_owner().await;
    stage.platform.refuse_connections().await;
    stage.control.set_guilds(USER, Vec::new());
    let mut age = REFRESH_AFTER.as_secs();
    stage.pass(REFRESH_AFTER);
    for length in [Duration::ZERO, NEXT_TRY, STALE_FOR - REFRESH_AFTER - NEXT_TRY - SECOND] {
        stage.pass(length);
        age += length.as_secs();
        let shown = stage.node.shown(&token).await;
        assert_eq!((shown.names(), shown.age), (vec!["500"], age));
    }
    stage.pass(SECOND);
    for _ in 0..2 {
        let late = stage.node.ask(&token).await;
        assert_eq!((late.status, late.word().as_str()), (503, "provider_limited"), "{}", late.body);
        let wait: u64 = late.header("Retry-After").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        stage.pass(NEXT_TRY);
    }
    stage.platform.accept_again().unwrap();
    stage.pass(REFRESH_AFTER);
    assert_eq!(stage.node.shown_afresh(&token).await.names(), [""; 0], "the session outlived all of it");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_revoked_grant_ends_sessions() {
    let (stage, token) = Stage::with_owner().await;
    stage.control.expire_access(Some(USER));
    for fault in [
        Fault::Status { status: 500, body: ErrorBody::Html },
        Fault::Status { status: 401, body: ErrorBody::Json },
        Fault::OauthError { error: "invalid_client".to_owned() },
        Fault::OauthError { error: "invalid_request".to_owned() },
        Fault::BanPage { status: 403 },
        Fault::Limited { retry_after: 5.0, global: true },
        Fault::NotJson,
    ] {
        stage.pass(REFRESH_AFTER);
        let (what, calls) = (format!("{fault:?}"), stage.control.calls(Route::Token));
        stage.control.fail_times(Route::Token, fault, 1);
        assert_eq!(stage.node.shown(&token).await.names(), ["500"], "{what}");
        assert_eq!(stage.control.calls(Route::Token), calls + 1, "{what}");
    }
    stage.pass(REFRESH_AFTER);
    assert_eq!(stage.node.shown_afresh(&token).await.names(), ["500"]);
    stage.control.end_authorisation(USER);
    stage.pass(REFRESH_AFTER);
    let ended = stage.node.ask(&token).await;
    assert_eq!((ended.status, ended.word().as_str()), (401, "token_invalid"), "{}", ended.body);
    assert!(ended.body.contains("Sign in again"), "{}", ended.body);
    assert_eq!(stage.node.sessions(USER).await, 0);
    stage.stop().await;
}

/// `identity.keep_tokens = false`.
#[tokio::test(flavor = "multi_thread")]
async fn without_tokens_the_list_ages_from_the_sign_in() {
    let stage = Stage::with(&[("COMPANION_IDENTITY__KEEP_TOKENS", "false")]).await;
    let token = stage.arrives(USER, &[GUILD]).await;
    assert_eq!(stage.node.stored(USER).await.tokens, None);
    let calls = stage.control.all_calls();
    stage.pass(STALE_FOR * 2);
    let shown = stage.node.shown(&token).await;
    assert_eq!((shown.names(), shown.age), (vec!["500"], 2 * STALE_FOR.as_secs()));
    assert_eq!(stage.control.all_calls(), calls);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_session_is_refused_at_once_until_unblocked() {
    let (stage, token) = Stage::with_owner().await;
    let other = stage.arrives(OTHER, &[GUILD]).await;
    let path = format!("/bot/blocked/{USER}");
    stage.node.manage("PUT", &path, "").await;
    let refused = stage.node.ask(&token).await;
    assert_eq!((refused.status, refused.word().as_str()), (403, "blocked"));
    assert_eq!(stage.node.shown(&other).await.names(), ["500"]);
    stage.node.manage("DELETE", &path, "").await;
    assert_eq!(stage.node.shown(&token).await.names(), ["500"], "a block is no sign-out");
    stage.stop().await;
}

/// Asserts the effect of moved or altered grants in the database: the list is served while it is fresh, then the
/// request fails with a server error. No session ends.
async fn is_our_fault(stage: &Stage, users: &[(u64, &str)]) {
    stage.pass(JUST_FRESH);
    for (_, token) in users {
        assert_eq!(stage.node.shown(token).await.names(), ["500"]);
    }
    stage.pass(REMAINDER);
    let before = stage.control.all_calls();
    for (user, token) in users {
        for _ in 0..3 {
            let answer = stage.node.ask(token).await;
            assert_eq!((answer.status, answer.word().as_str()), (500, "internal"), "{}", answer.body);
            stage.pass(REFRESH_AFTER);
        }
        assert_eq!(stage.node.sessions(*user).await, 1);
    }
    assert_eq!(stage.control.all_calls(), before, "nothing is sent that did not open");
}

#[tokio::test(flavor = "multi_thread")]
async fn grants_swapped_between_users_open_for_neither() {
    let (stage, one) = Stage::with_owner().await;
    let other = stage.arrives(OTHER, &[GUILD]).await;
    let (first, second) = (stage.node.stored(USER).await, stage.node.stored(OTHER).await);
    stage.node.store(USER, &second).await;
    stage.node.store(OTHER, &first).await;
    is_our_fault(&stage, &[(USER, &one), (OTHER, &other)]).await;
    // Signing in again repairs it, for old sessions too.
    stage.signs_in(USER).await;
    assert_eq!(stage.node.shown_afresh(&one).await.names(), ["500"]);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_altered_grant_does_not_open() {
    let (stage, one) = Stage::with_owner().await;
    let other = stage.arrives(OTHER, &[GUILD]).await;
    let good = stage.node.stored(USER).await;
    let bytes = good.tokens.clone().unwrap().as_bytes().to_vec();
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    for altered in [flipped, bytes[..bytes.len() - 1].to_vec(), Vec::new()] {
        stage.signs_in(OTHER).await;
        // Fetched as recently as the test expects.
        let list = stage.node.stored(OTHER).await.list;
        stage
            .node
            .store(USER, &GrantContent { tokens: Some(Sealed::from_bytes(altered)), list, profile: None })
            .await;
        is_our_fault(&stage, &[(USER, &one)]).await;
    }
    stage.node.store(USER, &good).await;
    for token in [one, other] {
        assert_eq!(stage.node.shown_afresh(&token).await.names(), ["500"]);
    }
    stage.stop().await;
}

/// Runs two nodes on one database; one clock is wrong by this many seconds.
async fn two_nodes_with_clocks_apart(seconds: i64) {
    let (stage, token) = Stage::with_owner().await;
    let (right, apart) = (stage.node.clock.now(), Duration::from_secs(seconds.unsigned_abs()));
    let wrong = FixedClock::at(if seconds < 0 { right.before(apart) } else { right.after(apart) });
    let other = Node::start(&stage.layers, &stage.platform, wrong).await;
    let nodes = [&stage.node, &other];
    let tokens = [token, other.sign_in(&stage.control.mint_code(USER)).await];
    let pass = |length| {
        stage.pass(length);
        other.clock.advance(length);
    };
    // The same cluster reports to alternating nodes: the last report wins.
    for (node, memory) in [(1, 10.0), (0, 20.0), (1, 30.0)] {
        let report = json!({"memory": memory, "started_at": 1_767_000_000, "shards": {}});
        nodes[node].manage("PUT", "/bot/clusters/a/heartbeat", &report.to_string()).await;
        for node in nodes {
            node.shows_memory(memory).await;
        }
        pass(SECOND);
    }
    pass(Duration::from_secs(85));
    for node in nodes {
        node.shows_memory(30.0).await;
    }
    pass(Duration::from_secs(4));
    for node in nodes {
        assert!(node.memory().await.abs() < 0.001, "{seconds}: silent for ninety seconds");
    }
    let look = async || {
        for (node, token) in [(0, 0), (1, 1), (0, 1), (1, 0)] {
            assert_eq!(nodes[node].shown_afresh(&tokens[token]).await.names(), ["500"], "{seconds}");
        }
    };
    // Hours pass, and the clock is corrected and wrong again: no session ends.
    for _ in 0..2 {
        pass(HOUR);
        look().await;
    }
    for date in [stage.node.clock.now(), other.clock.now()] {
        other.clock.set(date);
        look().await;
    }
    assert_eq!(stage.node.sessions(USER).await, 2, "{seconds}");
    other.served.stop().await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clock_differences_between_nodes_end_no_session() {
    const MINUTES: i64 = 4 * 60;
    const HOURS: i64 = 3 * 60 * 60;
    let [one, two, three, four] = [-MINUTES, MINUTES, -HOURS, HOURS].map(two_nodes_with_clocks_apart);
    tokio::join!(one, two, three, four);
}
