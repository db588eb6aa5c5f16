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
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: 0\r\n{headers}\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, body: serde_json::from_str(body).unwrap() }
}
