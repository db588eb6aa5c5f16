//! How the program comes to its end: nobody is cut off, and nobody is waited for too long.

use crate::{
    http::{self, Kept},
    program::{Program, Running},
    stage::until,
};
use companion_dev_identity::{Account, Client, DevIdentity, Fault, Options, Route};
use serde_json::Value;
use std::{
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

const USER: u64 = 190_000_000_000_000_007;
const REDIRECT: &str = "https://dashboard.example/callback";
const KEY: &str = "the-management-key";
/// How often the program is restarted under load, unless this variable says another number.
const RESTARTS: u32 = 1;
const RESTARTS_VARIABLE: &str = "RESTARTS";
/// How many ask without a pause meanwhile.
const CLIENTS: usize = 16;

#[test]
fn first_it_is_not_ready_and_each_answer_is_the_last_of_its_connection() {
    let mut service = Program::serving(&["serve"]).start();
    let (public, management) = (service.public(), service.management());
    let mut kept = Kept::to(&public).unwrap();
    assert!(!kept.get("/team", &[]).unwrap().closes);
    let begun = Instant::now();
    service.signal("TERM");
    while http::get(&management, "/health/ready", &[]).status == 200 {}
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    let answer = kept.get("/team", &[]).unwrap();
    assert_eq!((answer.status, answer.closes, kept.has_ended()), (200, true, true));
    assert!(
        Kept::to(&public).unwrap().get("/team", &[]).unwrap().closes,
        "new connections are still welcome"
    );
    assert_eq!(service.finish().code, Some(0));
    assert!(begun.elapsed() > Duration::from_millis(1500), "{:?}", begun.elapsed());
}

#[test]
fn ctrl_c_needs_no_notice() {
    let mut service = Program::serving(&["serve"]).start();
    let mut kept = Kept::to(&service.public()).unwrap();
    kept.get("/team", &[]).unwrap();
    let begun = Instant::now();
    service.signal("INT");
    assert_eq!(service.finish().code, Some(0));
    assert!(begun.elapsed() < Duration::from_millis(1400), "{:?}", begun.elapsed());
    assert!(kept.has_ended());
}

/// Someone who signs in while the platform does not answer.
struct SignIn {
    service: Running,
    waiting: Kept,
    _platform: companion_dev_identity::Running,
}

impl SignIn {
    /// Returns when the platform was asked.
    fn without_end() -> Self {
        let client = Client { id: "123".into(), secret: "hush".into(), redirect_uris: vec![REDIRECT.into()] };
        let user =
            Account { id: USER, username: "u".into(), global_name: None, avatar: None, guilds: Vec::new() };
        let options = Options { clients: vec![client], users: vec![user], ..Options::default() };
        let platform = DevIdentity::start(TcpListener::bind("127.0.0.1:0").unwrap(), options).unwrap();
        platform.control().fail_times(Route::Token, Fault::Silent, 1);
        let mut service = Program::serving(&["serve"])
            .env("COMPANION_IDENTITY__CLIENT_ID", "123")
            .env("COMPANION_IDENTITY__CLIENT_SECRET", "hush")
            .env("COMPANION_IDENTITY__REDIRECT_URI", REDIRECT)
            .env("COMPANION_IDENTITY__API_URL", &platform.api_url())
            .start();
        let mut waiting = Kept::to(&service.public()).unwrap();
        let code = platform.control().mint_code(USER);
        let request = format!("POST /auth HTTP/1.1\r\nHost: x\r\nIdp-Code: {code}\r\n\r\n");
        waiting.send(request.as_bytes()).unwrap();
        until("the platform is asked", Duration::from_secs(20), || {
            platform.control().calls(Route::Token) > 0
        });
        Self { service, waiting, _platform: platform }
    }
}

fn word(answer: &http::KeptAnswer) -> Value {
    serde_json::from_slice::<Value>(&answer.body).unwrap()["data"]["error"].clone()
}

#[test]
fn whoever_waits_for_the_platform_is_answered_before_the_end() {
    let SignIn { service, mut waiting, _platform } = SignIn::without_end();
    let begun = Instant::now();
    service.signal("TERM");
    let answer = waiting.answer().unwrap();
    assert_eq!((answer.status, answer.closes, word(&answer)), (503, true, "overloaded".into()));
    assert_eq!(service.finish().code, Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn a_sync_that_streams_in_is_answered_before_the_end_and_changes_nothing() {
    let folder = Arc::new(TempDir::new().unwrap());
    let mut service = Program::within(&folder, &["serve"])
        .env("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
        .env("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
        .env("COMPANION_MANAGEMENT__KEY", KEY)
        .start();
    let management = service.management();
    let guild =
        r#"{"name":"Stays","icon":null,"members":1,"owner":"1","setup":true,"linked":false,"roles":{}}"#;
    let key = format!("Bearer {KEY}");
    let put = http::send(&management, "PUT", "/bot/guilds/7", &[("Authorization", &key)], guild);
    assert_eq!(put.unwrap().status, 200);
    let mut syncing = Kept::to(&management).unwrap();
    let head = format!(
        "POST /bot/sync?replace=guilds HTTP/1.1\r\nHost: x\r\nAuthorization: {key}\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    );
    syncing.send(head.as_bytes()).unwrap();
    // The rest never comes.
    syncing.send(b"a\r\n{\"kind\":\"g").unwrap();
    // Accepted after it, so the sync is in.
    http::get(&management, "/health/live", &[]);
    let begun = Instant::now();
    service.signal("TERM");
    let answer = syncing.answer().unwrap();
    assert_eq!((answer.status, word(&answer)), (503, "overloaded".into()));
    assert_eq!(service.finish().code, Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let exported = Program::within(&folder, &["export"]).finish().out;
    assert!(exported.contains("Stays"), "the sync would have removed it: {exported}");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let SignIn { mut service, waiting: _waiting, _platform } = SignIn::without_end();
    let begun = Instant::now();
    service.signal("TERM");
    let management = service.management();
    while http::get(&management, "/health/ready", &[]).status == 200 {}
    service.signal("TERM");
    let finished = service.finish();
    assert_eq!(finished.code, Some(1));
    assert!(finished.err.contains("told twice"), "{}", finished.err);
    assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
}

/// What clients met that they should not.
#[derive(Default)]
pub(crate) struct Load {
    pub(crate) over: AtomicBool,
    pub(crate) answered: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) wrong: AtomicU64,
}

impl Load {
    /// Returns when so many more have been answered.
    pub(crate) fn answers(&self, more: u64) {
        let enough = self.answered.load(Relaxed) + more;
        until("enough answers", Duration::from_secs(60), || self.answered.load(Relaxed) >= enough);
    }

    /// Asks without a pause, on a connection for as long as it may.
    pub(crate) fn run(&self, address: &str, path: &str) {
        self.ask(address, path, false);
    }

    /// The same with a connection for each question.
    pub(crate) fn run_once_each(&self, address: &str, path: &str) {
        self.ask(address, path, true);
    }

    fn ask(&self, address: &str, path: &str, once: bool) {
        while !self.over.load(Relaxed) {
            // Between two programs there is nobody to connect to.
            let Ok(mut connection) = Kept::to(address) else {
                self.refused.fetch_add(1, Relaxed);
                // The program that starts needs the processor more.
                thread::park_timeout(Duration::from_millis(1));
                continue;
            };
            loop {
                match connection.get(path, &[]) {
                    Ok(answer) if answer.status == 200 => {
                        self.answered.fetch_add(1, Relaxed);
                        if once || answer.closes || self.over.load(Relaxed) {
                            break;
                        }
                    }
                    Ok(answer) => {
                        eprintln!("{path}: {}", answer.status);
                        self.wrong.fetch_add(1, Relaxed);
                        break;
                    }
                    Err(error) => {
                        eprintln!("{path}: {error}");
                        self.wrong.fetch_add(1, Relaxed);
                        break;
                    }
                }
            }
        }
    }
}

pub(crate) fn restarts() -> u32 {
    std::env::var(RESTARTS_VARIABLE).map_or(RESTARTS, |text| text.parse().unwrap())
}

#[test]
fn a_restart_under_load_cuts_nobody_off() {
    let restarts = restarts();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let start = || {
        let mut service = Program::serving(&["serve"]).env("COMPANION_HTTP__LISTEN", &address).start();
        service.public();
        service
    };
    let load = Load::default();
    let mut service = start();
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let path = ["/", "/team", "/feedback"][client % 3];
            scope.spawn(|| load.run(&address, path));
        }
        for _ in 0..restarts {
            load.answers(300);
            service.signal("TERM");
            assert_eq!(service.finish().code, Some(0));
            service = start();
        }
        load.over.store(true, Relaxed);
    });
    let [answered, refused, wrong] =
        [&load.answered, &load.refused, &load.wrong].map(|count| count.load(Relaxed));
    println!(
        "{restarts} restarts under load: {answered} answers, {refused} not let in, {wrong} cut off or wrong"
    );
    assert_eq!(wrong, 0);
}
