//! A minimal client of the management API.

use companion_domain::model::Secret;
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use std::{io, net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::TcpStream,
    time::timeout,
};

/// Timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of a response, in bytes. Responses to changes are much smaller.
const MAX_RESPONSE_BYTES: u64 = 64 * 1024;

/// The reason why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The connection failed or timed out.
    #[error("the management API cannot be reached: {0}")]
    Io(#[from] io::Error),
    /// The API responded with an error.
    #[error("the management API answered: {0}")]
    Refused(String),
}

/// The part of a response that is used.
#[derive(Deserialize)]
struct Envelope<T> {
    data: T,
}

/// Sends changes to the management API, each over its own connection.
#[derive(Debug, Clone)]
pub(super) struct ManagementClient {
    address: SocketAddr,
    key: Secret,
}

impl ManagementClient {
    /// Creates a client of the API at this address.
    #[must_use]
    pub(super) const fn new(address: SocketAddr, key: Secret) -> Self {
        Self { address, key }
    }

    /// Sends a change. Any status but 200 is an error.
    pub(super) async fn send(&self, method: &str, path: &str, body: &str) -> Result<(), RequestError> {
        self.request::<IgnoredAny>(method, path, body).await.map(drop)
    }

    /// Sends a request, and returns the `data` of its response. Any status but 200 is an error.
    pub(super) async fn request<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<T, RequestError> {
        let exchange = timeout(REQUEST_TIMEOUT, self.exchange(method, path, body));
        let answer = exchange.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        match head.split(' ').nth(1) {
            Some("200") => serde_json::from_str::<Envelope<T>>(body)
                .map(|envelope| envelope.data)
                .map_err(|error| RequestError::Refused(format!("what cannot be read: {error}"))),
            _ => Err(RequestError::Refused(body.to_owned())),
        }
    }

    async fn exchange(&self, method: &str, path: &str, body: &str) -> io::Result<String> {
        let mut answer = String::new();
        let stream = self.begin(method, path, body).await?;
        stream.take(MAX_RESPONSE_BYTES).read_to_string(&mut answer).await?;
        Ok(answer)
    }

    /// Returns the lines of a response that has no end, with those of its head.
    pub(super) async fn lines(&self, path: &str) -> io::Result<Lines<BufReader<TcpStream>>> {
        Ok(BufReader::new(self.begin("GET", path, "").await?).lines())
    }

    async fn begin(&self, method: &str, path: &str, body: &str) -> io::Result<TcpStream> {
        let Self { address, key } = self;
        let mut stream = TcpStream::connect(address).await?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            key.expose(),
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        Ok(stream)
    }
}
