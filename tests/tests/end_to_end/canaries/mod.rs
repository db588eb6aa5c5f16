//! Asserts that secrets do not leak: every kind of secret is planted, all operations on them run, and then all output,
//! files and responses are searched.
//!
//! The log is the program's own on standard error at the most verbose level. Therefore the test runs itself again with
//! standard error redirected to a file.

mod garden;

use self::garden::{Garden, Recorder};
use crate::served::{Answer, Client, Served, account, identity, layers, owned, start_platform};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use companion::composition::Adapters;
use companion_dev_identity::{Control, ErrorBody, Fault, Options, Route, Running};
use companion_domain::session::TokenRing;
use companion_identity_oauth2::Deadlines;
use serde_json::json;
use std::{
    env,
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::{runtime::Runtime, task::JoinSet};

/// The variable that names the file of standard error.
const LOG: &str = "CANARIES_LOG";
const USERS: u64 = 50;

#[test]
fn no_secret_appears_in_logs_responses_debug_output_or_database() {
    match env::var_os(LOG) {
        Some(log) => Runtime::new().unwrap().block_on(plant_and_search(&PathBuf::from(log))),
        None => run_again_with_a_log(),
    }
}

fn run_again_with_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let (_, module) = module_path!().split_once("::").unwrap();
    let this = format!("{module}::no_secret_appears_in_logs_responses_debug_output_or_database");
    let output = Command::new(env::current_exe().unwrap())
        .args([&this, "--exact", "--nocapture"])
        .env(LOG, &log)
        .env("RUST_BACKTRACE", "0")
        .stderr(File::create(&log).unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    println!("{said}");
    let log = fs::read_to_string(&log).unwrap();
    let end = log.rfind("panicked").map(|at| &log[at..]);
    assert!(output.status.success() && said.contains("1 passed"), "{end:?}");
}

/// The planted secrets, the platform, and the settings of the services.
struct Scene {
    garden: Garden,
    platform: Running,
    control: Control,
    users: Vec<u64>,
    client_secret: String,
    management_key: String,
    secret_key: [u8; 32],
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let garden = Garden::default();
        let client_secret = garden.canary("client secret");
        let management_key = garden.canary("management key");
        let secret_key = garden.bytes();
        let signing = STANDARD.encode(secret_key);
        garden.plant("signing key", &signing);
        let platform = start_platform(&client_secret, Options::default());
        let control = platform.control();
        let users: Vec<_> = (1..=USERS).map(|number| number << 22).collect();
        users.iter().for_each(|user| control.put_user(account(*user, vec![owned(500)])));
        let folder = tempfile::tempdir().unwrap();
        Self { garden, platform, control, users, client_secret, management_key, secret_key, folder }
    }

    /// Starts a service, with these deadlines for calls to the platform if not the default ones.
    async fn serve(&self, deadlines: Option<Deadlines>) -> Served {
        let storage = format!("sqlite:{}", self.folder.path().join("companion.db").display());
        let layers = layers(&storage, &self.platform.api_url(), &self.client_secret)
            .with("COMPANION_LOG__LEVEL", "trace")
            .with("COMPANION_LOG__ACCESS", "true")
            .with("COMPANION_HTTP__SIGN_OUT", "true")
            .with("COMPANION_MANAGEMENT__KEY", &self.management_key)
            .with("COMPANION_SECRETS__KEY", &STANDARD.encode(self.secret_key))
            .with("COMPANION_GUILDS__REFRESH_AFTER", "1ms")
            .with("COMPANION_LIMITS__REFUSED_CODES_PER_MINUTE", "1000000");
        let adjust = |adapters: &mut Adapters| {
            if let Some(deadlines) = deadlines {
                let clock = adapters.clock.clone();
                adapters.identity = identity(&self.platform, &self.client_secret, deadlines, clock);
            }
            let real = Arc::clone(&adapters.identity);
            adapters.identity = Arc::new(Recorder { real, garden: self.garden.clone() });
        };
        let served = Served::start(&layers, adjust).await;
        let ring = &served.keys.ring;
        let tokens = TokenRing::new(&ring.first, &ring.others);
        let token = tokens.issue(&self.garden.bytes());
        self.garden.plant("session token", token.expose());
        self.garden.said(&format!("{:?} {:#?} {layers:?} {tokens:?} {token:?}", served.keys, served.loaded));
        served
    }

    /// Returns every file in the folder of the database.
    fn files(&self, when: &str) -> Vec<(String, Vec<u8>)> {
        let files = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: &Path| format!("{} {when}", path.file_name().unwrap().display());
        files.map(|path| (name(&path), fs::read(&path).unwrap())).collect()
    }
}

async fn plant_and_search(log: &Path) {
    let begun = Instant::now();
    let goal = env::var("CANARIES").map_or(500, |text| text.parse().unwrap());
    let scene = Scene::new();
    let garden = &scene.garden;

    let served = scene.serve(None).await;
    // Each sign-in plants a code, two verifiers, an access token, a refresh token and a session token.
    scene.sign_ins(&served, &scene.users, goal / 8).await;
    let renewing = &scene.users[..scene.users.len().min(goal / 40)];
    scene.renewals(&served, renewing, (goal / 1000).clamp(1, 8)).await;
    send_forged_secrets(&served, garden, goal / 5).await;
    let mut texts = scene.files("while it runs");
    assert!(texts.iter().any(|(name, text)| name.starts_with("companion.db-wal") && !text.is_empty()));
    served.stop().await;

    scene.fail_in_every_way().await;

    texts.extend(scene.files("afterwards"));
    let written = fs::read(log).unwrap();
    let lines = String::from_utf8_lossy(&written).lines().count();
    texts.push(("log".to_owned(), written));
    let planted = garden.planted();
    let total: usize = planted.values().sum();
    let searched = garden.search(&texts);
    println!("{total} canaries: {planted:?}");
    println!(
        "none found in {} answers, {lines} lines of log, and these bytes: {searched:?}",
        garden.answers()
    );
    println!("{:.1} s", begun.elapsed().as_secs_f64());
    assert!(total >= goal, "{total}");
    assert!(lines >= garden.answers(), "the log is not the one of all these requests");
    // The raw bytes of the key must not appear either.
    let key = &scene.secret_key[..12];
    assert!(texts.iter().all(|(_, text)| text.windows(12).all(|window| window != key)));
    scene.platform.stop().await;
}

const CONNECTIONS: usize = 16;

/// A client that records every response.
struct Caller {
    client: Client,
    garden: Garden,
}

impl Caller {
    async fn new(address: SocketAddr, garden: &Garden) -> Self {
        Self { client: Client::connect(address).await, garden: garden.clone() }
    }

    async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let answer = self.client.send(method, path, headers).await;
        self.garden.heard(&answer);
        answer
    }

    /// Sends a request that gets this status.
    async fn expect(&mut self, status: u16, method: &str, path: &str, headers: &[(&str, &str)]) {
        let answer = self.send(method, path, headers).await;
        assert_eq!(answer.status, status, "{}", answer.body);
    }

    /// Signs in with a new verifier.
    async fn sign_in(&mut self, code: &str) -> Answer {
        let verifier = self.garden.canary("verifier");
        self.send("POST", "/auth", &[("Idp-Code", code), ("Idp-Code-Verifier", &verifier)]).await
    }
}

/// Runs `work` this many times over a few connections.
async fn spread<F, Fut>(address: SocketAddr, garden: &Garden, total: usize, work: F)
where
    F: Fn(Caller, usize) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Caller> + Send,
{
    let next = Arc::new(AtomicUsize::new(0));
    let mut connections = JoinSet::new();
    for _ in 0..CONNECTIONS.min(total) {
        let mut caller = Caller::new(address, garden).await;
        let (next, work) = (Arc::clone(&next), work.clone());
        connections.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= total {
                    break;
                }
                caller = work(caller, number).await;
            }
        });
    }
    connections.join_all().await;
}

impl Scene {
    /// Returns a new code of a user.
    fn code(&self, user: u64) -> String {
        let code = self.control.mint_code(user);
        self.garden.plant("code", &code);
        code
    }

    /// Signs users in, and posts each code twice.
    async fn sign_ins(&self, served: &Served, users: &[u64], total: usize) {
        let (control, users) = (self.control.clone(), users.to_vec());
        spread(served.public, &self.garden, total, move |mut caller, number| {
            let code = control.mint_code(users[number % users.len()]);
            caller.garden.plant("code", &code);
            async move {
                for status in [200, 401] {
                    let answer = caller.sign_in(&code).await;
                    assert_eq!(answer.status, status, "{}", answer.body);
                }
                caller
            }
        })
        .await;
    }

    /// Refreshes guild lists with rotated tokens for several rounds, then signs the users out, half of them on each
    /// listener.
    async fn renewals(&self, served: &Served, users: &[u64], rounds: usize) {
        let mut public = Caller::new(served.public, &self.garden).await;
        let mut tokens = Vec::new();
        for user in users {
            tokens.push(public.sign_in(&self.code(*user)).await.token());
        }
        let before = self.control.calls(Route::Token);
        for _ in 0..rounds {
            self.control.expire_access(None);
            for token in &tokens {
                public.expect(200, "GET", "/guilds", &[("Token", token)]).await;
            }
        }
        assert_eq!(self.control.calls(Route::Token) - before, (rounds * users.len()) as u64);
        let mut management = Caller::new(served.management, &self.garden).await;
        let bearer = format!("Bearer {}", self.management_key);
        let key = ("Authorization", bearer.as_str());
        for (number, (user, token)) in users.iter().zip(&tokens).enumerate() {
            management.expect(200, "GET", &format!("/sessions?user={user}"), &[key]).await;
            let token = ("Token", token.as_str());
            if number % 2 == 0 {
                public.expect(200, "DELETE", "/auth", &[token]).await;
            } else {
                management.expect(200, "POST", "/sessions/sign-out", &[key, token]).await;
            }
            public.expect(401, "GET", "/guilds", &[token]).await;
        }
        management.expect(200, "DELETE", &format!("/users/{}", users[0]), &[key]).await;
        management.expect(200, "GET", "/metrics", &[key]).await;
    }

    /// Runs each fault with its own user, followed by a successful sign-in, so that neither breaker nor budget affects the
    /// next one.
    async fn fail_in_every_way(&self) {
        let mut next_user = self.users.iter().copied().cycle();
        let mut next_user = || next_user.next().unwrap();
        let served = self.serve(None).await;
        for route in [Route::Token, Route::User, Route::Guilds] {
            for fault in faults(&self.garden) {
                self.failing(&served, route, fault, next_user()).await;
                self.sign_ins(&served, &[next_user()], 1).await;
            }
        }
        served.stop().await;
        let impatient = Deadlines { call: Duration::from_millis(500), ..Deadlines::default() };
        let served = self.serve(Some(impatient)).await;
        self.failing(&served, Route::Token, Fault::Silent, next_user()).await;
        served.stop().await;
    }

    /// Signs in while the platform fails in this way.
    async fn failing(&self, served: &Served, route: Route, fault: Fault, user: u64) {
        let before = self.control.calls(route);
        self.control.fail(route, fault.clone());
        Caller::new(served.public, &self.garden).await.sign_in(&self.code(user)).await;
        self.control.clear_all();
        assert!(self.control.calls(route) > before, "{fault:?} on {route:?} was not met");
    }
}

/// Sends codes, tokens and keys that were never issued, in the right and the wrong places.
async fn send_forged_secrets(served: &Served, garden: &Garden, total: usize) {
    let management = served.management;
    spread(served.public, garden, total, move |mut caller, number| async move {
        let garden = caller.garden.clone();
        let made_up = garden.canary("made-up secret");
        let answer = match number % 10 {
            0 => caller.send("GET", "/guilds", &[("Token", &made_up)]).await,
            1 => {
                caller.send("GET", "/guilds", &[("Token", &format!("cmp_{made_up}{}", &made_up[..16]))]).await
            }
            2 => caller.send("DELETE", "/auth", &[("Token", &made_up)]).await,
            3 => caller.send("GET", &format!("/guilds?token={made_up}"), &[]).await,
            4 => caller.send("POST", &format!("/auth?code={made_up}"), &[]).await,
            5 => caller.send("POST", "/auth", &[("Idp-Code", &made_up), ("Idp-Code", &made_up)]).await,
            6 => {
                let mut there = Caller::new(management, &garden).await;
                there.send("GET", "/metrics", &[("Authorization", &format!("Bearer {made_up}"))]).await
            }
            7 => {
                let endless = made_up.repeat(30);
                caller.send("POST", "/auth", &[("Idp-Code", &endless)]).await
            }
            _ => caller.sign_in(&made_up).await,
        };
        assert!((400..600).contains(&answer.status), "{}", answer.body);
        caller
    })
    .await;
}

/// Returns every fast fault after which the platform can be called at once, and responses that echo secrets, as a
/// careless platform might.
fn faults(garden: &Garden) -> Vec<Fault> {
    let echo = || garden.canary("echoed secret");
    let status = |status, body| Fault::Status { status, body };
    let body = |status, json| Fault::Body { status, json };
    vec![
        Fault::Closed,
        Fault::Garbage,
        Fault::Truncated,
        Fault::NotJson,
        Fault::WrongShape,
        Fault::Bomb,
        Fault::Huge { bytes: 2 << 20, announced: false },
        Fault::BanPage { status: 403 },
        Fault::Limited { retry_after: 0.0, global: false },
        status(401, ErrorBody::Json),
        status(404, ErrorBody::Html),
        status(500, ErrorBody::Json),
        status(503, ErrorBody::Empty),
        Fault::OauthError { error: "invalid_grant".to_owned() },
        Fault::OauthError { error: "invalid_client".to_owned() },
        Fault::OauthError { error: echo() },
        Fault::Redirect { to: format!("http://127.0.0.1:9/?code={}", echo()) },
        body(400, json!({"error": "invalid_grant", "error_description": echo()})),
        body(200, json!({"access_token": [echo()], "id": echo(), "username": echo()})),
        body(200, json!({"access_token": echo(), "token_type": echo(), "id": echo()})),
        body(200, json!({"access_token": format!("{}\n", echo()), "token_type": "bearer"})),
        body(500, json!({"message": echo()})),
    ]
}
