//! Shutdown, alone and under a supervisor: no request in flight is cut off, and slow clients do not delay it for long.

use crate::{
    http::{self, Kept},
    installation::free_address,
    program::Program,
    stage::{InProcess, MANAGEMENT_KEY, Node, Stage, exported_guilds, guild, until},
};
use companion_dev_identity::{Fault, Route};
use companion_domain::port::Clock as _;
use companion_storage_memory::MemoryIdentity;
use companion_testkit::{clock::FixedClock, world::a_user};
use serde_json::Value;
use std::{
    io::Write as _,
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

/// Default number of restarts under load.
const RESTARTS: u32 = 1;
const RESTARTS_VARIABLE: &str = "RESTARTS";
/// Concurrent clients that send requests without a pause.
const CLIENTS: usize = 16;
const STORAGE: &str = "sqlite:companion.db";

/// Opens a connection that is idle after a request, one with an incomplete request, and one that sends nothing.
fn linger(address: &str) -> [TcpStream; 3] {
    [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], b"GET / HTTP/1.1\r\nHo", b""].map(|bytes| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    })
}

#[test]
fn fails_readiness_first_and_waits_for_no_idle_or_slow_client() {
    let mut service = Program::serving(&["serve"]).start();
    let (public, management) = (service.public(), service.management());
    let _streams = (linger(&public), linger(&management));
    let mut kept = Kept::to(&public).unwrap();
    // Connections are accepted in order, so after these responses the others have been accepted.
    assert!(!kept.get("/team", &[]).unwrap().closes);
    http::get(&management, "/health/live", &[]);
    let begun = Instant::now();
    service.signal("TERM");
    while http::get(&management, "/health/ready", &[]).status == 200 {}
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    let answer = kept.get("/team", &[]).unwrap();
    assert_eq!((answer.status, answer.closes, kept.has_ended()), (200, true, true));
    let mut new = Kept::to(&public).unwrap();
    assert!(new.get("/team", &[]).unwrap().closes, "new connections are still welcome");
    assert_eq!(service.finish().code, Some(0));
    let took = begun.elapsed();
    assert!(took > Duration::from_millis(1500) && took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn sigint_skips_the_notice_period() {
    let mut service = Program::serving(&["serve"]).start();
    let mut kept = Kept::to(&service.public()).unwrap();
    kept.get("/team", &[]).unwrap();
    let begun = Instant::now();
    service.signal("INT");
    assert_eq!(service.finish().code, Some(0));
    assert!(begun.elapsed() < Duration::from_millis(1400), "{:?}", begun.elapsed());
    assert!(kept.has_ended());
}

/// Starts a sign-in with a platform that does not answer, and returns once the platform has received the request.
fn sign_in_without_end(stage: &Stage) -> (Node, Kept) {
    stage.platform().fail_times(Route::Token, Fault::Silent, 1);
    let node = Node::of(stage.program(&["serve"], STORAGE).env("COMPANION_LOG__LEVEL", "info").start());
    let code = stage.platform().mint_code(1);
    let mut waiting = Kept::to(node.public()).unwrap();
    waiting.send(request("POST /auth", &format!("Idp-Code: {code}\r\n")).as_bytes()).unwrap();
    until("asked", Duration::from_secs(20), || stage.platform().calls(Route::Token) > 0);
    (node, waiting)
}

#[test]
fn answers_waiting_requests_before_exit_without_changes() {
    let stage = Stage::new();
    let (node, mut waiting) = sign_in_without_end(&stage);
    node.manage("PUT", "/bot/guilds/7", &guild(1).to_string());
    let mut syncing = Kept::to(node.management()).unwrap();
    let key = MANAGEMENT_KEY.1;
    let headers = format!("Authorization: {key}\r\nTransfer-Encoding: chunked\r\n");
    syncing.send(request("POST /bot/sync?replace=guilds", &headers).as_bytes()).unwrap();
    // The rest is never sent.
    syncing.send(b"a\r\n{\"kind\":\"g").unwrap();
    // This response comes after the sync was accepted.
    node.is_ready();
    let begun = Instant::now();
    node.running.signal("TERM");
    for answer in [waiting.answer().unwrap(), syncing.answer().unwrap()] {
        let word = serde_json::from_slice::<Value>(&answer.body).unwrap()["data"]["error"].take();
        assert_eq!((answer.status, answer.closes, word), (503, true, "overloaded".into()));
    }
    assert_eq!(node.running.finish().code, Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let exported = exported_guilds(&stage.done(&["export"], STORAGE));
    assert_eq!(exported.get(&7), Some(&1), "the sync would have removed it");
}

#[test]
fn a_second_signal_exits_at_once() {
    let stage = Stage::new();
    let (node, _waiting) = sign_in_without_end(&stage);
    let begun = Instant::now();
    node.running.signal("TERM");
    while node.is_ready() {}
    node.running.signal("TERM");
    let finished = node.running.finish();
    assert_eq!(finished.code, Some(1));
    assert!(finished.err.contains("a second signal arrived"), "{}", finished.err);
    assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
}

/// Counts of what the clients have observed.
#[derive(Default)]
pub(crate) struct Load {
    pub(crate) over: AtomicBool,
    answered: AtomicU64,
    refused: AtomicU64,
    wrong: AtomicU64,
}

impl Load {
    /// Waits for this many further responses.
    pub(crate) fn answers(&self, more: u64) {
        let enough = self.answered.load(Relaxed) + more;
        until("enough answers", Duration::from_secs(60), || self.answered.load(Relaxed) >= enough);
    }

    /// Prints the counts, and returns how many connections were refused and how many requests were cut off or answered
    /// wrongly.
    pub(crate) fn told(&self, what: &str) -> (u64, u64) {
        let [answered, refused, wrong] =
            [&self.answered, &self.refused, &self.wrong].map(|count| count.load(Relaxed));
        println!("{what}: {answered} answers, {refused} not let in, {wrong} cut off or wrong");
        (refused, wrong)
    }

    /// Sends requests without a pause, each on its own connection or on one kept as long as allowed.
    pub(crate) fn ask(&self, address: &str, once: bool, mut request: impl FnMut() -> String) {
        while !self.over.load(Relaxed) {
            // Between two programs no listener exists.
            let Ok(mut connection) = Kept::to(address) else {
                self.refused.fetch_add(1, Relaxed);
                // Leave the processor to the starting program.
                thread::park_timeout(Duration::from_millis(1));
                continue;
            };
            loop {
                let request = request();
                match connection.send(request.as_bytes()).and_then(|()| connection.answer()) {
                    Ok(answer) if answer.status == 200 => {
                        self.answered.fetch_add(1, Relaxed);
                        if !once && !answer.closes && !self.over.load(Relaxed) {
                            continue;
                        }
                    }
                    other => {
                        eprintln!("{request}{:?}", other.map(|answer| answer.status));
                        self.wrong.fetch_add(1, Relaxed);
                    }
                }
                break;
            }
        }
    }
}

/// Returns a request without a body.
pub(crate) fn request(line: &str, headers: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: api.example\r\n{headers}\r\n")
}

pub(crate) fn restarts() -> u32 {
    std::env::var(RESTARTS_VARIABLE).map_or(RESTARTS, |text| text.parse().unwrap())
}

#[test]
fn a_restart_under_load_cuts_off_no_request() {
    let restarts = restarts();
    let address = free_address();
    let start = || {
        let mut service = Program::serving(&["serve"]).env("COMPANION_HTTP__LISTEN", &address).start();
        service.public();
        service
    };
    let load = Load::default();
    let mut service = start();
    thread::scope(|scope| {
        let (load, address) = (&load, &address);
        for client in 0..CLIENTS {
            let path = ["/", "/team", "/feedback"][client % 3];
            scope.spawn(move || load.ask(address, false, || request(&format!("GET {path}"), "")));
        }
        for _ in 0..restarts {
            load.answers(300);
            service.signal("TERM");
            assert_eq!(service.finish().code, Some(0));
            service = start();
        }
        load.over.store(true, Relaxed);
    });
    assert_eq!(load.told(&format!("{restarts} restarts under load")).1, 0);
}

#[test]
fn shutdown_writes_buffered_session_uses() {
    let clock = Arc::new(FixedClock::default());
    let user = a_user(7);
    let mut identity = None;
    let running = InProcess::start(|adapters| {
        let platform = Arc::new(MemoryIdentity::new(clock.clone(), adapters.entropy.clone()));
        platform.put_user(user.clone(), Vec::new());
        adapters.clock = clock.clone();
        adapters.identity = platform.clone();
        identity = Some(platform);
    });
    let code = identity.unwrap().issue_code(user.id);
    let session = http::ask(&running.public, "POST", "/auth", &[("Idp-Code", &code)]).body;
    clock.advance(Duration::from_secs(4000));
    let token = session["data"]["token"].as_str().unwrap();
    assert_eq!(http::get(&running.public, "/guilds", &[("Token", token)]).status, 200);
    let sessions = running.adapters.stores.sessions.clone();
    running.stop();
    let stored = Runtime::new().unwrap().block_on(sessions.of_user(user.id)).unwrap();
    assert_eq!(stored[0].last_seen_at, clock.now());
    assert!(stored[0].last_seen_at > stored[0].created_at);
}

/// Under a supervisor such as systemd.
#[cfg(target_os = "linux")]
mod supervised {
    use super::{Load, request, restarts};
    use crate::{http, program::Program};
    use std::{
        net::TcpListener,
        os::{fd::OwnedFd, unix::net::UnixDatagram},
        process::{Child, Command, Stdio},
        sync::atomic::Ordering::Relaxed,
        thread,
        time::Duration,
    };
    use tempfile::TempDir;

    /// The supervisor's notification socket.
    struct NotifySocket {
        socket: UnixDatagram,
        folder: TempDir,
    }

    impl NotifySocket {
        fn new() -> Self {
            let folder = TempDir::new().unwrap();
            let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            Self { socket, folder }
        }

        fn path(&self) -> String {
            self.folder.path().join("notify").display().to_string()
        }

        fn heard(&self) -> String {
            let mut message = [0; 256];
            let length = self.socket.recv(&mut message).unwrap();
            String::from_utf8(message[..length].to_vec()).unwrap().trim().to_owned()
        }
    }

    #[test]
    fn notifies_the_supervisor_of_ready_watchdog_and_stopping() {
        let supervisor = NotifySocket::new();
        let program = || Program::serving(&["serve"]).env("NOTIFY_SOCKET", &supervisor.path());
        let without_watchdog = program().start();
        assert_eq!(supervisor.heard(), "READY=1");
        without_watchdog.signal("INT");
        assert_eq!(supervisor.heard(), "STOPPING=1");
        assert_eq!(without_watchdog.finish().code, Some(0));

        let mut service = program().env("WATCHDOG_USEC", "1000000").start();
        assert_eq!(supervisor.heard(), "READY=1");
        let management = service.management();
        assert_eq!(http::get(&management, "/health/ready", &[]).status, 200, "ready means ready");
        for _ in 0..2 {
            assert_eq!(supervisor.heard(), "WATCHDOG=1");
        }
        service.signal("INT");
        while supervisor.heard() != "STOPPING=1" {}
        assert_eq!(service.finish().code, Some(0));
    }

    /// Starts the program with these listeners as a supervisor does, from descriptor 3 on.
    fn activated(public: &TcpListener, management: &TcpListener, names: &str) -> Child {
        let passed = |listener: &TcpListener| Stdio::from(OwnedFd::from(listener.try_clone().unwrap()));
        let script = "exec 3<&0 4<&2 0</dev/null 2>/dev/null; LISTEN_PID=$$ exec \"$0\" serve";
        Command::new("/bin/sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_companion")])
            .env_clear()
            .envs([("LISTEN_FDS", "2"), ("LISTEN_FDNAMES", names), ("COMPANION_STORAGE__URL", "memory:")])
            // Addresses that cannot be bound, so the program must not try.
            .envs([
                ("COMPANION_HTTP__LISTEN", "192.0.2.1:1"),
                ("COMPANION_MANAGEMENT__LISTEN", "192.0.2.1:2"),
            ])
            .stdin(passed(public))
            .stderr(passed(management))
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn ended(mut child: Child, signal: &str) -> Option<i32> {
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        child.wait().unwrap().code()
    }

    #[test]
    fn restarts_behind_inherited_listeners_refuse_no_connection() {
        let listener = || TcpListener::bind("127.0.0.1:0").unwrap();
        let (public, management) = (listener(), listener());
        let [address, managed] = [&public, &management].map(|one| one.local_addr().unwrap().to_string());
        // A connection opened before the start is answered once the service runs. Names decide, not the order.
        let waiting = http::begin(&managed, "GET", "/team", &[], "").unwrap();
        let swapped = activated(&public, &management, "management:public");
        assert_eq!(waiting.json().unwrap().status, 200);
        assert_eq!(http::get(&address, "/health/live", &[]).status, 200);
        assert_eq!(ended(swapped, "INT"), Some(0));

        let start = || activated(&public, &management, "public:management");
        let (load, restarts) = (Load::default(), restarts());
        thread::scope(|scope| {
            let (load, address) = (&load, &address);
            let mut service = start();
            for path in ["/", "/team", "/feedback"] {
                scope.spawn(move || load.ask(address, false, || request(&format!("GET {path}"), "")));
                // Clients that open a connection per request connect at any moment.
                scope.spawn(move || load.ask(address, true, || request(&format!("GET {path}"), "")));
            }
            for _ in 0..restarts {
                load.answers(300);
                assert_eq!(ended(service, "TERM"), Some(0));
                service = start();
            }
            load.answers(300);
            load.over.store(true, Relaxed);
            assert_eq!(ended(service, "INT"), Some(0));
        });
        assert_eq!(load.told(&format!("{restarts} restarts behind open listeners")), (0, 0));
    }
}
