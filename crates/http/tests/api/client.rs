//! A client that does exactly what it is told.

use companion_http::Listening;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// One connection.
pub(crate) struct Client(TcpStream);

impl Client {
    pub(crate) async fn to(listening: &Listening) -> Self {
        Self(TcpStream::connect(listening.addr()).await.unwrap())
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.0.write_all(text.replace('\n', "\r\n").as_bytes()).await.unwrap();
    }

    /// Reads a head, without anything after it.
    pub(crate) async fn head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.0.read_u8().await.unwrap());
        }
        String::from_utf8(head).unwrap().to_ascii_lowercase()
    }

    /// Reads an answer with its body.
    pub(crate) async fn answer(&mut self) -> (u16, String, Value) {
        let head = self.head().await;
        let mut body = vec![0; length(&head)];
        self.0.read_exact(&mut body).await.unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head, serde_json::from_slice(&body).unwrap_or_default())
    }
}

/// The length that a head announces.
pub(crate) fn length(head: &str) -> usize {
    let line = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    line.map_or(0, |length| length.parse().unwrap())
}
