//! `companion serve`.

use crate::{http, program::Program};
use std::{io::Write as _, net::TcpListener, net::TcpStream, time::Duration, time::Instant};

#[test]
fn both_listeners_answer_where_the_program_says() {
    let mut service = Program::serving(&["serve"]).start();
    let (public, management) = (service.public(), service.management());
    let status = http::get(&public, "/", &[]);
    assert_eq!(status.status, 200);
    assert_eq!(status.body["data"]["version"]["name"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status.body["data"]["health"]["bot"]["uptime"]["readable"], "not reporting");
    assert_eq!(http::get(&management, "/health/ready", &[]).status, 200);
    assert_eq!(http::get(&management, "/health/live", &[]).status, 200);
    assert_eq!(http::get(&public, "/health/ready", &[]).status, 404);
    assert_eq!(http::get(&management, "/team", &[]).status, 401, "without a key nobody learns what is there");
}

#[test]
fn the_configuration_reaches_the_public_api() {
    let mut service = Program::serving(&["serve"]).env("COMPANION_HTTP__SIGN_OUT", "true").start();
    let public = service.public();
    assert_eq!(http::ask(&public, "DELETE", "/auth", &[("Token", "x")]).status, 401);
    let mut service = Program::serving(&["serve"]).start();
    let public = service.public();
    assert_eq!(http::ask(&public, "DELETE", "/auth", &[("Token", "x")]).status, 405);
}

#[test]
fn a_signal_ends_it_with_0() {
    for signal in ["TERM", "INT"] {
        let mut service = Program::serving(&["serve"]).start();
        service.public();
        service.signal(signal);
        let finished = service.finish();
        assert_eq!(finished.code, Some(0), "{signal}: {}", finished.err);
        assert!(finished.out.ends_with("Stopped.\n"), "{}", finished.out);
    }
}

#[test]
fn clients_that_linger_do_not_hold_the_end_up() {
    let mut service = Program::serving(&["serve"]).start();
    let (public, management) = (service.public(), service.management());
    // One that is idle after a request, one that never finishes its request, and one that never begins; on both.
    let linger = |address: &str| {
        let sent = [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], b"GET / HTTP/1.1\r\nHo", b""];
        sent.map(|bytes| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(bytes).unwrap();
            stream
        })
    };
    let _streams = (linger(&public), linger(&management));
    // They are accepted in order, so after this answer the others are in.
    http::get(&public, "/", &[]);
    http::get(&management, "/health/live", &[]);
    let begun = Instant::now();
    service.signal("TERM");
    assert_eq!(service.finish().code, Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn an_address_in_use_is_named_with_its_key() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (variable, key) in
        [("COMPANION_HTTP__LISTEN", "http.listen"), ("COMPANION_MANAGEMENT__LISTEN", "management.listen")]
    {
        let finished = Program::serving(&["serve"]).env(variable, &address).finish();
        assert_eq!(finished.code, Some(1));
        let said = format!("{key}: cannot listen on {address}");
        assert!(finished.err.contains(&said) && finished.err.contains(variable), "{}", finished.err);
        assert!(finished.out.is_empty());
    }
}

#[test]
fn the_database_and_its_keys_are_made_where_there_are_none() {
    let program = Program::new(&["serve"])
        .env("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
        .env("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0");
    let folder = program.folder().to_owned();
    let mut service = program.start();
    service.public();
    for file in ["companion.db", "companion.db.key", "companion.db.management-key"] {
        assert!(folder.join(file).exists(), "{file}");
    }
    service.signal("TERM");
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn the_log_is_json_or_for_people() {
    for (format, begins) in [("json", "{"), ("human", "20")] {
        let mut service = Program::serving(&["serve"]).env("COMPANION_LOG__FORMAT", format).start();
        service.public();
        service.signal("TERM");
        let log = service.finish().err;
        assert!(!log.is_empty() && log.lines().all(|line| line.starts_with(begins)), "{log}");
    }
}
