//! A caller that keeps its connection, in as little HTTP as that takes.

use serde_json::Value;
use std::net::SocketAddr;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

/// An answer, to the letter.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn data(&self) -> Value {
        let body: Value = serde_json::from_str(&self.body).unwrap();
        body["data"].clone()
    }

    /// The error's word; empty where there is none.
    pub(crate) fn word(&self) -> String {
        self.data()["error"].as_str().unwrap_or_default().to_owned()
    }

    /// The token of a session that was made.
    pub(crate) fn token(&self) -> String {
        self.data()["token"].as_str().unwrap().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

pub(crate) struct Client {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self { address, stream: open(address).await }
    }

    /// Signs in.
    pub(crate) async fn sign_in(&mut self, code: &str) -> Answer {
        self.send("POST", "/auth", &[("Idp-Code", code)]).await
    }

    pub(crate) async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send_with(method, path, headers, "").await
    }

    pub(crate) async fn send_with(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await.unwrap();
        let answer = self.receive().await;
        if answer.header("Connection").is_some_and(|connection| connection.eq_ignore_ascii_case("close")) {
            self.stream = open(self.address).await;
        }
        answer
    }

    async fn receive(&mut self) -> Answer {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = self.stream.read_line(&mut head).await.unwrap();
            assert_ne!(read, 0, "the connection ended after {head:?}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Answer { status, head, body: String::new() };
        let mut body = vec![0; answer.header("Content-Length").unwrap().parse().unwrap()];
        self.stream.read_exact(&mut body).await.unwrap();
        answer.body = String::from_utf8(body).unwrap();
        answer
    }
}

async fn open(address: SocketAddr) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    BufReader::new(stream)
}
