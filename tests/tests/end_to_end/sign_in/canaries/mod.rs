//! Secrets stay secret: canaries are planted in every one of them, everything is done that can be done with them, and
//! then everything that was said, written or answered is searched.
//!
//! The log is the program's own, at its most talkative, on standard error; so the test runs itself once more, with
//! standard error in a file.

mod garden;
mod load;
mod needles;
mod recorder;

use self::{garden::Garden, recorder::Recorder};
use super::{
    alone,
    stage::{account, platform},
};
use crate::{
    amount,
    served::{Served, database, identity_within, layers},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use companion::{composition::Adapters, configuration::Layers};
use companion_dev_identity::{Control, Fault, Route, Running};
use companion_domain::session::TokenRing;
use companion_identity_oauth2::Deadlines;
use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::{runtime::Runtime, task::JoinSet};

/// Says where standard error goes.
const LOG: &str = "CANARIES_LOG";
const USERS: u64 = 50;

#[test]
fn no_code_token_or_key_is_seen_in_a_log_an_answer_a_debugger_or_the_database() {
    Runtime::new().unwrap().block_on(async {
        let _turn = alone().await;
        match env::var_os(LOG) {
            Some(log) => plant_and_search(&PathBuf::from(log)).await,
            None => run_again_with_a_log(),
        }
    });
}

fn run_again_with_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let (_, module) = module_path!().split_once("::").unwrap();
    let this =
        format!("{module}::no_code_token_or_key_is_seen_in_a_log_an_answer_a_debugger_or_the_database");
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

/// The garden, the platform, and what the services are made of.
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
        let platform = platform(&client_secret);
        let control = platform.control();
        let users: Vec<_> = (1..=USERS).map(|number| number << 22).collect();
        users.iter().for_each(|user| control.put_user(account(*user)));
        let folder = tempfile::tempdir().unwrap();
        Self { garden, platform, control, users, client_secret, management_key, secret_key, folder }
    }

    fn layers(&self, database: &Path) -> Layers {
        layers(&self.platform.api_url(), &self.client_secret, database)
            .with("COMPANION_LOG__LEVEL", "trace")
            .with("COMPANION_LOG__ACCESS", "true")
            .with("COMPANION_HTTP__SIGN_OUT", "true")
            .with("COMPANION_MANAGEMENT__KEY", &self.management_key)
            .with("COMPANION_SECRETS__KEY", &STANDARD.encode(self.secret_key))
            .with("COMPANION_GUILDS__REFRESH_AFTER", "1ms")
            .with("COMPANION_LIMITS__REFUSED_CODES_PER_MINUTE", "1000000")
    }

    async fn serve(&self) -> Served {
        self.serve_with(&database(self.folder.path()), |_| {}).await
    }

    /// A service with a database of its own, so that no other learns from it to leave the platform alone.
    async fn serve_apart(&self, name: &str) -> Served {
        self.serve_with(&self.folder.path().join(name), |_| {}).await
    }

    /// A service that gives a call to the platform but a moment.
    async fn serve_impatiently(&self) -> Served {
        let deadlines = Deadlines { call: Duration::from_millis(500), ..Deadlines::default() };
        self.serve_with(&database(self.folder.path()), |adapters| {
            let (platform, clock) = (&self.platform, adapters.clock.clone());
            adapters.identity = identity_within(deadlines, platform, &self.client_secret, clock);
        })
        .await
    }

    async fn serve_with(&self, database: &Path, choose: impl FnOnce(&mut Adapters)) -> Served {
        let garden = self.garden.clone();
        let adjust = |adapters: &mut Adapters| {
            choose(adapters);
            adapters.identity = Arc::new(Recorder { real: Arc::clone(&adapters.identity), garden });
        };
        let layers = self.layers(database);
        let served = Served::start(&layers, adjust).await;
        let ring = &served.keys.ring;
        let tokens = TokenRing::new(&ring.first, &ring.others);
        let token = tokens.issue(&companion_domain::port::Entropy::draw(&companion::system::SystemEntropy));
        self.garden.plant("session token", token.expose());
        self.garden.said(&format!("{:?} {:#?} {layers:?} {tokens:?} {token:?}", served.keys, served.loaded));
        served
    }

    /// Every file in the folder of the database.
    fn files(&self, when: &str) -> Vec<(String, Vec<u8>)> {
        let files = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        files.map(|path| (format!("{} {when}", name(&path)), fs::read(&path).unwrap())).collect()
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

async fn plant_and_search(log: &Path) {
    let begun = Instant::now();
    let goal = amount("CANARIES", 500);
    let scene = Scene::new();
    let Scene { garden, control, users, .. } = &scene;

    let served = scene.serve().await;
    // A sign-in plants a code, two verifiers, an access token, a refresh token and a session token.
    load::sign_ins(&served, garden, control, users, goal / 8).await;
    let renewing = &users[..users.len().min(goal / 40)];
    load::renewals(&served, garden, control, renewing, (goal / 1000).clamp(1, 8), &scene.management_key)
        .await;
    load::strangers(&served, garden, goal / 5).await;
    let mut texts = scene.files("while it runs");
    assert!(texts.iter().any(|(name, text)| name.starts_with("companion.db-wal") && !text.is_empty()));
    served.stop().await;

    fail_in_every_way(&scene).await;

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
    // Nor are the bytes of the key there, which are not text.
    let key = &scene.secret_key[..12];
    assert!(texts.iter().all(|(_, text)| text.windows(12).all(|window| window != key)));
    scene.platform.stop().await;
}

/// A user for each fault, and a sign-in that works after it, so that neither a breaker nor a budget keeps the next from
/// being met. A platform that tells us to wait is not asked again, so such a fault has a service and a database of its own.
async fn fail_in_every_way(scene: &Scene) {
    let Scene { garden, control, users, .. } = scene;
    let mut next_user = users.iter().copied().cycle();
    let mut next_user = || next_user.next().unwrap();
    let mut stopping = JoinSet::new();
    let served = scene.serve().await;
    for route in [Route::Token, Route::User, Route::Guilds] {
        let (limiting, other): (Vec<_>, Vec<_>) = load::faults(garden).into_iter().partition(is_limiting);
        for fault in other {
            load::failing(&served, garden, control, route, fault, next_user()).await;
            load::sign_ins(&served, garden, control, &[next_user()], 1).await;
        }
        for (number, fault) in limiting.into_iter().enumerate() {
            let served = scene.serve_apart(&format!("{route:?}_{number}.db")).await;
            load::failing(&served, garden, control, route, fault, next_user()).await;
            stopping.spawn(served.stop());
        }
    }
    stopping.spawn(served.stop());
    let served = scene.serve_impatiently().await;
    load::failing(&served, garden, control, Route::Token, Fault::Silent, next_user()).await;
    stopping.spawn(served.stop());
    stopping.join_all().await;
}

fn is_limiting(fault: &Fault) -> bool {
    matches!(fault, Fault::Limited { .. } | Fault::BanPage { status: 429 })
}
