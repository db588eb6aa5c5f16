//! Two nodes on one PostgreSQL behind the documented nginx, restarted one after the other.

use super::nginx::{Nginx, free, is_installed};
use crate::{
    http::Kept,
    postgres::{
        database::Database,
        stage::{Node, Stage, until},
    },
    stop::restarts,
};
use std::{
    io,
    net::TcpStream,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};

const PATIENCE: Duration = Duration::from_secs(30);
/// How many ask without a pause, of each kind.
const CLIENTS: usize = 3;
/// How many are answered while a node is away.
const MEANWHILE: u64 = 300;

/// Clients of the proxy, and what they met.
struct Load<'a> {
    proxy: String,
    stage: &'a Stage,
    token: String,
    over: AtomicBool,
    answered: AtomicU64,
    failed: AtomicU64,
}

impl Load<'_> {
    /// Asks on one connection after the other, for so long as each lasts or but once.
    fn ask(&self, lasting: bool, mut request: impl FnMut() -> String) {
        while !self.over.load(Relaxed) {
            let mut connection = Kept::to(&self.proxy).unwrap();
            while self.count(exchange(&mut connection, &request())) && lasting {}
        }
    }

    /// Whether the connection can be used again.
    fn count(&self, answer: io::Result<(u16, bool)>) -> bool {
        let failure = match answer {
            Ok((200, closes)) => {
                self.answered.fetch_add(1, Relaxed);
                return !closes && !self.over.load(Relaxed);
            }
            Ok((status, _)) => status.to_string(),
            Err(error) => error.to_string(),
        };
        eprintln!("{failure}");
        self.failed.fetch_add(1, Relaxed);
        false
    }

    /// A sign-in of someone who has no other business here.
    fn sign_in(&self) -> String {
        request(
            "POST /auth",
            &format!("Idp-Code: {}\r\nContent-Length: 0\r\n", self.stage.platform().mint_code(2)),
        )
    }
}

fn exchange(connection: &mut Kept, request: &str) -> io::Result<(u16, bool)> {
    connection.send(request.as_bytes())?;
    connection.answer().map(|answer| (answer.status, answer.closes))
}

fn request(line: &str, headers: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: api.example\r\n{headers}\r\n")
}

#[test]
fn a_rolling_restart_behind_nginx_fails_nobody() {
    if !is_installed() || !xtask::postgres::is_installed() {
        println!("rolling restarts: skipped, as nginx or PostgreSQL is not installed");
        return;
    }
    let restarts = restarts();
    let (database, stage) = (Database::new(), Stage::new());
    let addresses = [free(), free()].map(|port| format!("127.0.0.1:{port}"));
    let serve = |address: &String| {
        let program = stage
            .program(&["serve"], &database.url())
            .env("COMPANION_HTTP__LISTEN", address)
            .env("COMPANION_HTTP__TRUSTED_PROXIES", r#"["127.0.0.1"]"#);
        let node = Node::of(program.start());
        until("ready", PATIENCE, || node.is_ready());
        node
    };
    let mut nodes = addresses.each_ref().map(serve);
    let mut nginx = Nginx::new();
    nginx.start(&addresses, "127.0.0.1:8082");
    let proxy = format!("127.0.0.1:{}", nginx.clear);
    until("nginx listens", PATIENCE, || TcpStream::connect(&proxy).is_ok());
    let token = nodes[0].sign_in(&stage, 1);
    let (over, answered, failed) = Default::default();
    let load = Load { proxy, stage: &stage, token, over, answered, failed };
    thread::scope(|scope| {
        let load = &load;
        for client in 0..CLIENTS {
            let path = ["/", "/team", "/feedback"][client % 3];
            let public = move || request(&format!("GET {path}"), "");
            let guilds = || request("GET /guilds", &format!("Token: {}\r\n", load.token));
            scope.spawn(move || load.ask(true, public));
            scope.spawn(move || load.ask(false, public));
            scope.spawn(move || load.ask(true, guilds));
        }
        scope.spawn(|| load.ask(true, || load.sign_in()));
        scope.spawn(|| load.ask(false, || load.sign_in()));
        let go_on = || {
            let seen = load.answered.load(Relaxed);
            until("answers", PATIENCE, || load.answered.load(Relaxed) >= seen + MEANWHILE);
        };
        go_on();
        for turn in 0..restarts {
            let turn = usize::try_from(turn).unwrap() % nodes.len();
            nodes[turn].running.signal("TERM");
            assert_eq!(nodes[turn].running.ended().code, Some(0));
            // As long as it takes to put another version in its place.
            go_on();
            nodes[turn] = serve(&addresses[turn]);
        }
        load.over.store(true, Relaxed);
    });
    let [answered, failed] = [&load.answered, &load.failed].map(|count| count.load(Relaxed));
    let passed_on = nginx.errors().matches("while connecting to upstream").count();
    println!(
        "{restarts} rolling restarts behind nginx: {answered} answers, {passed_on} passed on to the other node, {failed} failed"
    );
    assert!(passed_on > 0, "no node was ever away");
    assert_eq!(failed, 0, "{}", nginx.errors());
}
