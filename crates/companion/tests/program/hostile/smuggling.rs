//! Requests with another one hidden in them, where two readers might disagree on where the first one ends.

use crate::{program::Program, strangers::connect};
use memchr::memmem;
use std::{
    io::{Read as _, Write as _},
    net::SocketAddr,
    time::Duration,
};

/// The name of every request that is hidden. No answer may carry it.
pub(super) const HIDDEN: &str = "smuggled";

fn hidden() -> String {
    format!("GET /team HTTP/1.1\r\nHost: x\r\nX-Request-Id: {HIDDEN}\r\n\r\n")
}

/// Each with its name.
pub(super) fn cases() -> Vec<(String, Vec<u8>)> {
    let hidden = hidden();
    let post = |headers: &str, body: &str| {
        format!("POST /auth HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n{body}").into_bytes()
    };
    // To who reads a length it is all one body, to who reads chunks it ends before what is hidden.
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
        ("GET /team HTTP/1.1", format!("Content-Length: {size}\r\n"), &hidden),
        ("HEAD /team HTTP/1.1", format!("Content-Length: {size}\r\n"), &hidden),
        ("OPTIONS /auth HTTP/1.1", format!("Content-Length: {size}\r\n"), &hidden),
        ("DELETE /nothing HTTP/1.1", format!("Content-Length: {size}\r\n"), &hidden),
        ("POST http://other.example/auth HTTP/1.1", format!("Content-Length: {size}\r\n"), &hidden),
        ("POST //other.example/auth HTTP/1.1", format!("Content-Length: {size}\r\n"), &hidden),
        ("POST /auth HTTP/1.1", format!("Expect: 100-continue\r\nContent-Length: {size}\r\n"), &hidden),
        ("POST /auth HTTP/1.1", format!("Connection: Content-Length\r\nContent-Length: {size}\r\n"), &hidden),
        ("POST /auth  HTTP/1.1", format!("Content-Length: {size}\r\n"), &hidden),
        ("POST /auth HTTP/1.1 HTTP/1.1", format!("Content-Length: {size}\r\n"), &hidden),
        ("POST /auth HTTP/1.2", format!("Content-Length: {size}\r\n"), &hidden),
        ("POST /auth HTTP/2.0", format!("Content-Length: {size}\r\n"), &hidden),
        ("POST /auth", String::new(), &hidden),
    ] {
        let bytes = [head(line, &headers), body.as_bytes().to_vec()].concat();
        cases.push((format!("{line:?} with {headers:?}"), bytes));
    }
    cases
}

/// Sends it, and reads until the other side ends the connection or says no more.
pub(super) fn exchange(to: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(to, 1).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let _ = stream.write_all(bytes);
    // Whoever still waits for the rest of a body learns that there is none.
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut came = Vec::new();
    let _ = stream.read_to_end(&mut came);
    came
}

#[test]
fn hostile_requests_with_another_one_hidden_in_them_are_one_request_or_refused() {
    let mut service = Program::serving(&["serve"]).env("COMPANION_LOG__LEVEL", "error").start();
    let address = service.public().parse().unwrap();
    let seen = exchange(address, hidden().as_bytes());
    assert!(memmem::find(&seen, HIDDEN.as_bytes()).is_some(), "an answer carries the name of its request");
    let (mut refused, mut taken, mut wrong) = (0, 0, Vec::new());
    let cases = cases();
    for (name, bytes) in &cases {
        let came = exchange(address, bytes);
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
