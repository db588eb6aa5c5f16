//! Serves on loopback, and provides a raw client.

pub use crate::service::limits;

use super::service::Service;
use crate::service::free_port;
use companion_http::{RunningServer, ServerLimits, serve_public};
use companion_management::serve_management;
use serde_json::Value;
use std::{
    pin::pin,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// A raw connection.
pub struct Client(TcpStream);

impl Client {
    pub async fn to(listening: &RunningServer) -> Self {
        Self(TcpStream::connect(listening.addr()).await.unwrap())
    }

    /// Returns the underlying stream.
    pub fn into_stream(self) -> TcpStream {
        self.0
    }

    pub async fn send(&mut self, text: &str) {
        self.send_bytes(text.replace('\n', "\r\n").as_bytes()).await;
    }

    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// Reads a response head, and nothing after it.
    pub async fn head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.0.read_u8().await.unwrap());
        }
        String::from_utf8(head).unwrap().to_ascii_lowercase()
    }

    /// Reads a response with its body.
    pub async fn answer(&mut self) -> (u16, String, Value) {
        let head = self.head().await;
        let mut body = vec![0; length(&head)];
        self.0.read_exact(&mut body).await.unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// Sends these bytes repeatedly until the peer closes the connection or `most` copies are sent. Returns how many
    /// were sent, and the response.
    pub async fn flood(mut self, text: &str, most: usize) -> (usize, String) {
        let bytes = text.replace('\n', "\r\n").into_bytes();
        let (mut read, mut write) = self.0.split();
        let mut came = Vec::new();
        let mut sent = 0;
        let sending = async {
            while sent < most && write.write_all(&bytes).await.is_ok() {
                sent += bytes.len();
            }
            sent < most
        };
        let mut reading = pin!(read.read_to_end(&mut came));
        tokio::select! {
            biased;
            // A reset connection may still have delivered data.
            _ = &mut reading => {}
            true = sending => drop(reading.await),
            else => {}
        }
        (sent, String::from_utf8(came).unwrap())
    }
}

/// Returns the `Content-Length` of a head.
pub fn length(head: &str) -> usize {
    let line = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    line.map_or(0, |length| length.parse().unwrap())
}

/// Serves the public API.
pub fn listen(service: &Service) -> RunningServer {
    listen_with(service, limits())
}

/// Serves the public API within these limits.
pub fn listen_with(service: &Service, limits: ServerLimits) -> RunningServer {
    serve_public(service.api.clone(), free_port().unwrap(), limits).unwrap()
}

/// Serves the management API.
pub fn listen_management(service: &Service) -> RunningServer {
    listen_management_with(service, limits())
}

/// Serves the management API within these limits.
pub fn listen_management_with(service: &Service, limits: ServerLimits) -> RunningServer {
    serve_management(service.management.clone(), free_port().unwrap(), limits).unwrap()
}

/// Polls until the condition holds. Panics after a minute of real time.
pub async fn eventually(mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < Duration::from_secs(60), "it did not happen");
        tokio::task::yield_now().await;
    }
}
