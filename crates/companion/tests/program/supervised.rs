//! The program under a supervisor such as systemd.

use crate::{
    http,
    program::Program,
    stop::{Load, restarts},
};
use std::{
    net::TcpListener,
    os::{fd::OwnedFd, unix::net::UnixDatagram},
    process::{Child, Command, Stdio},
    sync::atomic::Ordering::Relaxed,
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// The supervisor's ear.
struct Ear {
    socket: UnixDatagram,
    folder: TempDir,
}

impl Ear {
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
fn a_supervisor_is_told_that_the_service_is_ready_lives_and_stops() {
    let ear = Ear::new();
    let mut service = Program::serving(&["serve"])
        .env("NOTIFY_SOCKET", &ear.path())
        .env("WATCHDOG_USEC", "4000000")
        .start();
    assert_eq!(ear.heard(), "READY=1");
    let management = service.management();
    assert_eq!(http::get(&management, "/health/ready", &[]).status, 200, "ready means ready");
    for _ in 0..2 {
        assert_eq!(ear.heard(), "WATCHDOG=1");
    }
    service.signal("TERM");
    while ear.heard() != "STOPPING=1" {}
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn without_a_watchdog_nothing_beats() {
    let ear = Ear::new();
    let service = Program::serving(&["serve"]).env("NOTIFY_SOCKET", &ear.path()).start();
    assert_eq!(ear.heard(), "READY=1");
    service.signal("INT");
    assert_eq!(ear.heard(), "STOPPING=1");
    assert_eq!(service.finish().code, Some(0));
}

/// The program with these listeners, as a supervisor starts it: from the third descriptor on.
fn activated(public: &TcpListener, management: &TcpListener, names: &str) -> Child {
    let passed = |listener: &TcpListener| Stdio::from(OwnedFd::from(listener.try_clone().unwrap()));
    let script = "exec 3<&0 4<&2 0</dev/null 2>/dev/null; LISTEN_PID=$$ exec \"$0\" serve";
    Command::new("/bin/sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_companion")])
        .env_clear()
        .envs([("LISTEN_FDS", "2"), ("LISTEN_FDNAMES", names), ("COMPANION_STORAGE__URL", "memory:")])
        // Nobody may listen there, so it must not be tried.
        .envs([("COMPANION_HTTP__LISTEN", "192.0.2.1:1"), ("COMPANION_MANAGEMENT__LISTEN", "192.0.2.1:2")])
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
fn listeners_that_were_handed_over_are_served_and_outlive_the_service() {
    let listener = || TcpListener::bind("127.0.0.1:0").unwrap();
    let (public, management) = (listener(), listener());
    let address = |listener: &TcpListener| listener.local_addr().unwrap().to_string();
    for _ in 0..2 {
        // Whoever connects before the service is there is answered once it is.
        let waiting = http::Sent::begin(&address(&public), "GET", "/team", &[], "").unwrap();
        let child = activated(&public, &management, "public:management");
        assert_eq!(waiting.answer().unwrap().status, 200);
        assert_eq!(http::get(&address(&management), "/health/live", &[]).status, 200);
        assert_eq!(http::get(&address(&public), "/health/live", &[]).status, 404);
        assert_eq!(ended(child, "INT"), Some(0));
    }
    let swapped = activated(&public, &management, "management:public");
    assert_eq!(http::get(&address(&public), "/health/live", &[]).status, 200);
    assert_eq!(ended(swapped, "INT"), Some(0));
}

#[test]
fn restarts_behind_listeners_that_stay_open_refuse_nobody() {
    let listener = || TcpListener::bind("127.0.0.1:0").unwrap();
    let (public, management) = (listener(), listener());
    let address = public.local_addr().unwrap().to_string();
    let start = || activated(&public, &management, "public:management");
    let (load, restarts) = (Load::default(), restarts());
    thread::scope(|scope| {
        let mut service = start();
        for path in ["/", "/team", "/feedback"] {
            scope.spawn(|| load.run(&address, path));
            // Whoever asks once on each connection comes in at any moment.
            scope.spawn(|| load.run_once_each(&address, path));
        }
        let serve_for_a_while = || {
            load.answers(300);
        };
        for _ in 0..restarts {
            serve_for_a_while();
            assert_eq!(ended(service, "TERM"), Some(0));
            service = start();
        }
        serve_for_a_while();
        load.over.store(true, Relaxed);
        assert_eq!(ended(service, "TERM"), Some(0));
    });
    let [answered, refused, wrong] =
        [&load.answered, &load.refused, &load.wrong].map(|count| count.load(Relaxed));
    println!(
        "{restarts} restarts behind open listeners: {answered} answers, {refused} not let in, {wrong} cut off or wrong"
    );
    assert_eq!((refused, wrong), (0, 0));
}

#[test]
fn listeners_without_a_name_of_ours_are_refused() {
    let listener = || TcpListener::bind("127.0.0.1:0").unwrap();
    for names in ["companion.socket:management", "public:dashboard"] {
        let mut child = activated(&listener(), &listener(), names);
        assert_eq!(child.wait().unwrap().code(), Some(2), "{names}");
    }
}
