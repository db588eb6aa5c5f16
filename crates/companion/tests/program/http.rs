//! Asks a running program, in as little HTTP as that takes.

use serde_json::Value;
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

pub(crate) fn get(address: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    ask(address, "GET", path, headers)
}

pub(crate) fn ask(address: &str, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    send(address, method, path, headers, "").unwrap()
}

/// Nothing where the answer did not come whole.
pub(crate) fn send(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<Answer> {
    Sent::begin(address, method, path, headers, body)?.answer()
}

/// A request on its way, so that one who asks can have many.
pub(crate) struct Sent(TcpStream);

impl Sent {
    /// Sends it, and waits for nothing.
    pub(crate) fn begin(
        address: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Option<Self> {
        let mut stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\
         {headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).ok()?;
        Some(Self(stream))
    }

    /// Nothing where it did not come whole.
    pub(crate) fn answer(mut self) -> Option<Answer> {
        let mut text = String::new();
        self.0.read_to_string(&mut text).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Answer { status, body: serde_json::from_str(body).ok()? })
    }
}
