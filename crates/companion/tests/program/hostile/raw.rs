//! Arbitrary bytes on many connections: whole and half requests, several at once, chunks that are none.

use super::smuggling;
use crate::{
    http,
    program::{Holdings, Program},
    strangers::connect,
};
use companion_testkit::hostile::{Hostile, count};
use memchr::memmem;
use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{Shutdown, SocketAddr},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};

/// So many connect at the same time.
const AT_ONCE: u64 = 4;
/// Ports of one address are used up too soon.
const ADDRESSES: u64 = 1000;
/// Whoever says no more is answered or cut off by then.
const PATIENCE: Duration = Duration::from_secs(20);

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

/// What is not HTTP at all.
const FOREIGN: [&[u8]; 3] =
    [b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", b"SSH-2.0-OpenSSH_9.2\r\n", b"\0\0\0\x08\x04\xd2\x16\x2f"];

/// Sends these bytes, half of the time without an end, and reads what comes. Gives whether the other side ended it.
fn meet(to: SocketAddr, from: u32, bytes: &[u8], end: bool) -> Option<(Vec<u8>, bool)> {
    let mut stream = connect(to, from)?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // Whoever hangs up at once need not be answered.
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
fn hostile_bytes_are_answered_or_cut_off_and_leave_nothing_behind() {
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
        .chain(FOREIGN.iter().map(|sample| sample.to_vec()))
        .chain(smuggling::cases().into_iter().map(|(_, bytes)| bytes))
        .collect();
    let answers = AtomicU64::new(0);
    let storm = |connections: u64, seed: u64| {
        thread::scope(|scope| {
            for number in 0..AT_ONCE {
                let (samples, answers, doors) = (&samples, &answers, &doors);
                scope.spawn(move || {
                    let mut hostile = Hostile::new(samples, seed * AT_ONCE + number);
                    for turn in 0..connections / AT_ONCE {
                        let (door, end) = (doors[hostile.below(2)], hostile.below(4) > 0);
                        let from = u32::try_from(1 + (turn * AT_ONCE + number) % ADDRESSES).unwrap();
                        let bytes = hostile.bytes();
                        let (came, ended) = meet(door, from, bytes, end).expect("it does not accept");
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
    // The first tenth warms it up.
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
    service.signal("INT");
    let finished = service.finish();
    assert_eq!(finished.code, Some(0));
    assert!(!finished.err.contains("panicked") && !finished.out.contains("panicked"), "{}", finished.err);
}
