//! Malformed bytes over sockets: random ones, and requests that two parsers would delimit differently.

use crate::{
    documented::proxy::{Nginx, is_installed},
    http::{self, Kept},
    program::{Holdings, Program},
    stage::until,
    strangers::connect,
};
use companion_testkit::hostile::{Hostile, count};
use memchr::memmem;
use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};

/// The request id of every smuggled request. No response may carry it.
const HIDDEN: &str = "smuggled";

fn hidden() -> String {
    format!("GET /team HTTP/1.1\r\nHost: x\r\nX-Request-Id: {HIDDEN}\r\n\r\n")
}

/// Returns all cases by name.
fn cases() -> Vec<(String, Vec<u8>)> {
    let hidden = hidden();
    let post = |headers: &str, body: &str| {
        format!("POST /auth HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n{body}").into_bytes()
    };
    // A reader of Content-Length sees one body; a reader of chunks sees it end before the smuggled request.
    let end_of_chunks = format!("0\r\n\r\n{hidden}");
    let (length, whole) = (end_of_chunks.len(), &end_of_chunks);
    let mut cases = Vec::new();
    for coding in [
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: CHUNKED",
        "Transfer-Encoding:chunked",
        "Transfer-Encoding:\tchunked",
        "Transfer-Encoding: chunked ",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunkedx",
        "Transfer-Encoding: x, chunked",
        "Transfer-Encoding: chunked, x",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: identity, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
        "Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding\t: chunked",
        " Transfer-Encoding: chunked",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding: 'chunked'",
        "Transfer-Encoding: chunked;q=1",
        "Transfer-Encoding: \u{b}chunked",
        "Transfer-Encoding: \0chunked",
        "Transfer-Encoding\0: chunked",
        "Transfer-Encoding:\r\n chunked",
        "Transfer-Encoding\r\n: chunked",
        "X: y\r\n Transfer-Encoding: chunked",
        "X: y\rTransfer-Encoding: chunked",
        "X: y\nTransfer-Encoding: chunked",
        "Transfer_Encoding: chunked",
        "Transfer-Encoding: chun\u{212a}ed",
    ] {
        for (place, headers) in [
            ("after", format!("Content-Length: {length}\r\n{coding}")),
            ("before", format!("{coding}\r\nContent-Length: {length}")),
        ] {
            cases.push((format!("a length with {coding:?} {place} it"), post(&headers, whole)));
        }
    }
    for value in [
        format!("+{length}"),
        format!("0x{length:x}"),
        format!("{length}, {length}"),
        format!("{length}\r\nContent-Length: {length}"),
        format!("0{length}"),
        format!("{length};"),
        format!("{length}\u{b}"),
        format!("{length}\0"),
        format!("\r\n {length}"),
        "-1".to_owned(),
        format!("0\r\nContent-Length: {length}"),
        format!("{length}\r\nContent-Length: 0"),
        format!("0, {length}"),
        "18446744073709551616".to_owned(),
        "1e1".to_owned(),
        "٥".to_owned(),
        String::new(),
        " ".to_owned(),
    ] {
        let name = format!("the length {value:?}");
        cases.push((name, post(&format!("Content-Length: {value}"), &hidden)));
    }
    for name in ["Content-Length ", "Content-Length\t", " Content-Length", "Content-Length\0"] {
        cases.push((format!("{name:?}"), post(&format!("{name}: {}", hidden.len()), &hidden)));
    }
    let size = hidden.len();
    for chunks in [
        format!("{size:x};a=b\r\n{hidden}\r\n0\r\n\r\n"),
        format!("{size:x};\n{hidden}\r\n0\r\n\r\n"),
        format!("{size:x} \r\n{hidden}\r\n0\r\n\r\n"),
        format!("{size:x}\n{hidden}\r\n0\r\n\r\n"),
        format!("0x{size:x}\r\n{hidden}\r\n0\r\n\r\n"),
        format!("+{size:x}\r\n{hidden}\r\n0\r\n\r\n"),
        format!("1000000000000000{size:x}\r\n{hidden}\r\n0\r\n\r\n"),
        format!("-1\r\n{hidden}\r\n0\r\n\r\n"),
        format!("\r\n{hidden}"),
        format!("1\r\nAB{hidden}"),
        format!("1\r\nA\n0\n\n{hidden}"),
        format!("0;a\n\n{hidden}"),
        format!("0\n\n{hidden}"),
        format!("0\r\nContent-Length: {size}\r\n{hidden}"),
        format!("0\r\n{hidden}"),
    ] {
        cases.push((format!("the chunks {chunks:?}"), post("Transfer-Encoding: chunked", &chunks)));
    }
    let head = |line: &str, headers: &str| format!("{line}\r\nHost: x\r\n{headers}\r\n").into_bytes();
    for (line, headers, body) in [
        ("POST /auth HTTP/1.0", "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n".to_owned(), whole),
        ("POST /auth HTTP/1.0", format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"), whole),
        ("POST /auth HTTP/1.1", format!("Expect: 100-continue\r\nContent-Length: {size}\r\n"), &hidden),
        ("POST /auth HTTP/1.1", format!("Connection: Content-Length\r\nContent-Length: {size}\r\n"), &hidden),
        ("POST /auth", String::new(), &hidden),
    ] {
        let bytes = [head(line, &headers), body.as_bytes().to_vec()].concat();
        cases.push((format!("{line:?} with {headers:?}"), bytes));
    }
    for line in [
        "GET /team HTTP/1.1",
        "HEAD /team HTTP/1.1",
        "OPTIONS /auth HTTP/1.1",
        "DELETE /nothing HTTP/1.1",
        "POST http://other.example/auth HTTP/1.1",
        "POST //other.example/auth HTTP/1.1",
        "POST /auth  HTTP/1.1",
        "POST /auth HTTP/1.1 HTTP/1.1",
        "POST /auth HTTP/1.2",
        "POST /auth HTTP/2.0",
    ] {
        let head = head(line, &format!("Content-Length: {size}\r\n"));
        cases.push((format!("{line:?} with a length"), [&head, hidden.as_bytes()].concat()));
    }
    cases
}

#[test]
fn hostile_smuggling_attempts_are_one_request_or_refused() {
    let mut service = Program::serving(&["serve"]).env("COMPANION_LOG__LEVEL", "error").start();
    let address = service.public().parse().unwrap();
    let seen = exchange(address, 1, hidden().as_bytes(), true).unwrap().0;
    assert!(memmem::find(&seen, HIDDEN.as_bytes()).is_some(), "an answer carries the name of its request");
    let (mut refused, mut taken, mut wrong) = (0, 0, Vec::new());
    let cases = cases();
    for (name, bytes) in &cases {
        let (came, _) = exchange(address, 1, bytes, true).unwrap();
        let answers = memmem::find_iter(&came, b"HTTP/1.1 ").count();
        let continues = memmem::find_iter(&came, b"HTTP/1.1 100").count();
        let text = String::from_utf8_lossy(&came);
        if text.contains(HIDDEN) || answers - continues > 1 || text.contains("HTTP/1.1 500") {
            wrong.push(format!("{name}: {text}"));
        } else if text.starts_with("HTTP/1.1 400") || came.is_empty() {
            refused += 1;
        } else {
            taken += 1;
        }
    }
    println!(
        "hostile: {} requests with another hidden in them: {refused} refused, {taken} taken as one",
        cases.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Concurrent connections.
const CONCURRENT: u64 = 4;
/// Client addresses. The ports of a single one would be exhausted.
const ADDRESSES: u64 = 1000;
/// A silent client is answered or cut off within this time.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

const SAMPLES: [&str; 8] = [
    "GET /team HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: x\r\nSent-Epoch: 1700000000.25\r\nX-Request-Id: one\r\nAccept: */*\r\n\r\n",
    "GET /guilds HTTP/1.1\r\nHost: x\r\nToken: cmp_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n\r\n",
    "POST /auth HTTP/1.1\r\nHost: x\r\nIdp-Code: some\r\nContent-Length: 5\r\n\r\nhello",
    "POST /auth HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "GET /feedback HTTP/1.1\r\nHost: x\r\n\r\nGET /team HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.0\r\n\r\n",
    "OPTIONS /auth HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\r\nAccess-Control-Request-Method: POST\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
];

/// Bytes of other protocols.
const OTHER_PROTOCOLS: [&[u8]; 3] =
    [b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", b"SSH-2.0-OpenSSH_9.2\r\n", b"\0\0\0\x08\x04\xd2\x16\x2f"];

/// Sends these bytes. If `end` is set, ends the request and reads the response; otherwise closes at once. Returns the
/// response, and whether the peer closed the connection. `None` if the connection was refused.
fn exchange(to: SocketAddr, from: u32, bytes: &[u8], end: bool) -> Option<(Vec<u8>, bool)> {
    let mut stream = connect(to, from)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).unwrap();
    // A client that closes at once need not be answered.
    if stream.write_all(bytes).is_err() || !end {
        return Some((Vec::new(), true));
    }
    let _ = stream.shutdown(Shutdown::Write);
    let mut came = Vec::new();
    let ended = match stream.read_to_end(&mut came) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    };
    Some((came, ended))
}

#[test]
fn hostile_bytes_are_answered_or_cut_off_without_leaks() {
    let connections = count(1000, 1_000_000);
    let mut service = Program::serving(&["serve"])
        .env("COMPANION_MANAGEMENT__KEY", "the-management-key")
        .env("COMPANION_LOG__LEVEL", "error")
        .start();
    let public = service.public();
    let doors: [SocketAddr; 2] = [public.parse().unwrap(), service.management().parse().unwrap()];
    let samples: Vec<Vec<u8>> = SAMPLES
        .iter()
        .map(|sample| sample.as_bytes().to_vec())
        .chain(OTHER_PROTOCOLS.iter().map(|sample| sample.to_vec()))
        .chain(cases().into_iter().map(|(_, bytes)| bytes))
        .collect();
    let answers = AtomicU64::new(0);
    let storm = |connections: u64, seed: u64| {
        thread::scope(|scope| {
            for number in 0..CONCURRENT {
                let (samples, answers, doors) = (&samples, &answers, &doors);
                scope.spawn(move || {
                    let mut hostile = Hostile::new(samples, seed * CONCURRENT + number);
                    for turn in 0..connections / CONCURRENT {
                        let (door, end) = (doors[hostile.below(2)], hostile.below(4) > 0);
                        let from = u32::try_from(1 + (turn * CONCURRENT + number) % ADDRESSES).unwrap();
                        let bytes = hostile.bytes();
                        let (came, ended) = exchange(door, from, bytes, end).expect("it does not accept");
                        let sent = String::from_utf8_lossy(bytes);
                        assert!(ended, "neither answered nor cut off: {sent:?}");
                        assert!(came.is_empty() || came.starts_with(b"HTTP/1."), "{sent:?}");
                        assert_eq!(memmem::find(&came, b"HTTP/1.1 500"), None, "{sent:?}");
                        answers.fetch_add(memmem::find_iter(&came, b"HTTP/1.").count() as u64, Relaxed);
                    }
                });
            }
        });
    };
    // The first tenth is the warm-up.
    storm(connections / 10, 1);
    let before = Holdings::of(&service);
    storm(connections - connections / 10, 2);
    assert_eq!(http::get(&public, "/team", &[]).status, 200);
    let after = Holdings::of(&service);
    println!(
        "hostile: {connections} connections with arbitrary bytes, {} answers: {} MB before, {} MB after; {} and {} files",
        answers.load(Relaxed),
        before.megabytes(),
        after.megabytes(),
        before.files,
        after.files
    );
    assert!(after.memory < before.memory + before.memory / 4 + (16 << 20), "{before:?}, then {after:?}");
    assert!(after.files <= before.files + 4, "{before:?}, then {after:?}");
    let finished = service.stop();
    assert!(!finished.err.contains("panicked") && !finished.out.contains("panicked"), "{}", finished.err);
}

#[test]
fn hostile_requests_through_nginx_affect_no_other_client() {
    let mut service = Program::serving(&["serve"]).env("COMPANION_LOG__LEVEL", "error").start();
    if !is_installed() {
        println!("hostile: skipped, as nginx is not installed");
        return;
    }
    let mut nginx = Nginx::new();
    let proxy = SocketAddr::from(([127, 0, 0, 1], nginx.plain));
    nginx.run(&format!(
        "upstream service {{ server {}; keepalive 1; }}\n\
         server {{ listen {proxy}; location / {{ proxy_pass http://service; proxy_http_version 1.1;\n\
         proxy_request_buffering off; proxy_set_header Connection \"\"; }} }}",
        service.public()
    ));
    until("nginx listens", Duration::from_secs(10), || TcpStream::connect(proxy).is_ok());
    let mut asked = 0;
    for (name, bytes) in cases() {
        exchange(proxy, 1, &bytes, true).unwrap();
        // All clients share one upstream connection, so leftover bytes on it would precede the next response.
        for _ in 0..2 {
            let mut client = Kept::to(&proxy.to_string()).unwrap();
            let answer = client.get("/nothing", &[("X-Request-Id", "next")]).unwrap();
            let body = String::from_utf8(answer.body).unwrap();
            assert_eq!(answer.status, 404, "{name}: {body}");
            assert!(body.contains("\"request_id\":\"next\"") && !body.contains(HIDDEN), "{name}: {body}");
            asked += 1;
        }
    }
    println!("hostile: {asked} clients after hidden requests through nginx: each got their own answer");
}
