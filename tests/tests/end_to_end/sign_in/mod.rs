//! Sign-in with the whole program: over real sockets, on a SQLite file, against a real OAuth 2.0 provider that fails on
//! demand.
//!
//! Each test runs one or more services in this process and prints its measurements.

mod canaries;
mod faults;
mod junk_codes;

use crate::{
    amount,
    served::{Answer, Client, Served, application, database, identity_within, layers, start_platform},
};
use companion::composition::Adapters;
use companion_dev_identity::{Account, AccountGuild, CodeTerms, Control, Options, Route, Running};
use companion_domain::model::UserId;
use companion_identity_oauth2::Deadlines;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::{
    sync::{Barrier, Mutex, MutexGuard},
    task::{JoinSet, spawn_blocking},
};

const USER: u64 = 190_000_000_000_000_007;

/// A platform and a service.
struct Stage {
    platform: Running,
    control: Control,
    served: Served,
    folder: TempDir,
}

impl Stage {
    async fn new() -> Self {
        Self::with(&[]).await
    }

    /// Creates a stage whose service has these additional variables.
    async fn with(variables: &[(&str, &str)]) -> Self {
        Self::adjusted(variables, |_, _| {}).await
    }

    /// Creates a stage whose service has this deadline for a call to the platform.
    async fn within(call: Duration) -> Self {
        Self::adjusted(&[], |platform, adapters| {
            let deadlines = Deadlines { call, ..Deadlines::default() };
            adapters.identity =
                identity_within(deadlines, platform, &sample_secret(), adapters.clock.clone());
        })
        .await
    }

    async fn adjusted(variables: &[(&str, &str)], adjust: impl FnOnce(&Running, &mut Adapters)) -> Self {
        let platform = platform(&sample_secret());
        let folder = tempfile::tempdir().unwrap();
        let layers = layers(&platform.api_url(), &sample_secret(), &database(folder.path()));
        let layers = layers.with("COMPANION_LOG__LEVEL", "error");
        let layers = variables.iter().fold(layers, |layers, (name, value)| layers.with(name, value));
        let served = Served::start(&layers, |adapters| adjust(&platform, adapters)).await;
        Self { control: platform.control(), platform, served, folder }
    }

    /// Issues a code for the default user.
    fn code(&self) -> String {
        self.control.mint_code(USER)
    }

    async fn sign_in(&self, code: &str) -> Answer {
        Client::connect(self.served.public).await.sign_in(code).await
    }

    async fn stop(self) {
        self.served.stop().await;
        self.platform.stop().await;
        self.folder.close().unwrap();
    }
}

fn sample_secret() -> String {
    // Every kind of character that some encoding treats specially.
    "a b+c%2F:&=?/ü\"'".to_owned()
}

fn platform(secret: &str) -> Running {
    start_platform(Options {
        clients: vec![application(secret)],
        users: vec![account(USER)],
        ..Options::default()
    })
}

/// Keeps paused time from advancing while responses are in flight over real sockets: tokio does not advance it while a
/// blocking task runs.
fn hold_time() -> mpsc::Sender<()> {
    let (sender, receiver) = mpsc::channel();
    spawn_blocking(move || receiver.recv());
    sender
}

fn account(id: u64) -> Account {
    let guild = AccountGuild { id: 500, name: "Owls".to_owned(), icon: None, owner: true, permissions: 0 };
    let username = format!("user_{id}");
    Account { id, username, global_name: None, avatar: None, guilds: vec![guild] }
}

/// Serializes the tests of this folder within a process: each uses both cores and measures.
async fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

/// One code is good for one session, however many clients post it concurrently.
#[tokio::test(flavor = "multi_thread")]
async fn a_code_posted_a_thousand_times_yields_one_session_and_call() {
    const CALLERS: usize = 1000;
    let _turn = alone().await;
    // All clients share one address here, and all but one post a code that is refused.
    let stage = Stage::with(&[("COMPANION_LIMITS__REFUSED_CODES_PER_MINUTE", "1000000")]).await;
    let code = Arc::new(stage.code());
    let ready = Arc::new(Barrier::new(CALLERS + 1));
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let mut client = Client::connect(stage.served.public).await;
        let (code, ready) = (Arc::clone(&code), Arc::clone(&ready));
        callers.spawn(async move {
            ready.wait().await;
            client.sign_in(&code).await
        });
    }
    ready.wait().await;
    let begun = Instant::now();
    let mut answers = BTreeMap::new();
    for answer in callers.join_all().await {
        *answers.entry((answer.status, answer.word())).or_insert(0) += 1;
    }
    let calls = stage.control.calls(Route::Token);
    let user = UserId::new(USER).unwrap();
    let sessions = stage.served.adapters.stores.sessions.of_user(user).await.unwrap().len();
    println!(
        "{CALLERS} concurrent posts of one code: {answers:?}, outbound token calls {calls}, sessions {sessions}, {} ms",
        begun.elapsed().as_millis()
    );
    let expected = [((200, String::new()), 1), ((401, "idp_code_invalid".to_owned()), CALLERS - 1)];
    assert_eq!(answers, expected.into());
    assert_eq!((calls, sessions), (1, 1));
    stage.stop().await;
}

/// Scopes are a parameter in the user's own browser. Omitting some must not affect other users.
#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_without_the_scopes_makes_no_further_call() {
    let _turn = alone().await;
    let stage = Stage::new().await;
    let code_for = |scope: &str| {
        let terms = CodeTerms { scope: Some(scope.to_owned()), ..CodeTerms::default() };
        stage.control.mint_code_with(USER, terms)
    };
    let session = stage.sign_in(&stage.code()).await;
    assert_eq!(session.status, 200);
    let calls = || [Route::User, Route::Guilds, Route::Revoke].map(|route| stage.control.calls(route));
    let before = calls();
    // More than the breaker's threshold, if they counted as failures.
    for scope in
        ["identify", "guilds", "email", "email guilds.join", "identity guild", "guild", "identify.guilds"]
    {
        let refused = stage.sign_in(&code_for(scope)).await;
        assert_eq!((refused.status, refused.word().as_str()), (401, "idp_scope_missing"), "{scope}");
    }
    assert_eq!(calls(), before);
    assert!(stage.control.is_authorised(USER), "revoking one token would have ended the first session, too");
    assert_eq!(stage.sign_in(&code_for("email  guilds connections identify")).await.status, 200);
    stage.stop().await;
}

/// Forged codes must not cause many calls to the platform, which would ban our address.
#[tokio::test(flavor = "multi_thread")]
async fn forged_codes_cost_at_most_300_platform_calls_a_minute() {
    const CONNECTIONS: usize = 64;
    /// Budget of one node for calls to the platform per minute.
    const CALLS_PER_MINUTE: u64 = 300;
    const KNOWN: [(u16, &str); 3] =
        [(401, "idp_code_invalid"), (429, "rate_limited"), (503, "provider_limited")];
    let _turn = alone().await;
    // As if every post came from another address: only the node's budget limits them.
    let stage = Stage::with(&[("COMPANION_LIMITS__REFUSED_CODES_PER_MINUTE", "1000000000")]).await;
    let (total, next, begun) = (amount("BAD_CODES", 1000), Arc::new(AtomicUsize::new(0)), Instant::now());
    let mut connections = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let mut client = Client::connect(stage.served.public).await;
        let next = Arc::clone(&next);
        connections.spawn(async move {
            let mut answers = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= total {
                    return answers;
                }
                let answer = client.sign_in(&format!("made-up-{number}")).await;
                let waiting = answer.header("Retry-After").is_some();
                assert_eq!(waiting, answer.status != 401, "{}", answer.head);
                answers.push((answer.status, answer.word()));
            }
        });
    }
    let answers = connections.join_all().await.concat();
    assert_eq!(answers.len(), total);
    for (status, word) in &answers {
        assert!(KNOWN.contains(&(*status, word)), "{status} {word}");
    }
    let (took, calls) = (begun.elapsed(), stage.control.calls(Route::Token));
    println!("{total} bad codes in {:.1} s: outbound token calls {calls}", took.as_secs_f64());
    // A slow machine may need several minutes, and every minute has its own budget.
    let minutes = took.as_secs() / 60 + 1;
    assert!((1..=CALLS_PER_MINUTE * minutes).contains(&calls), "{calls} calls in {minutes} minutes");
    stage.stop().await;
}
