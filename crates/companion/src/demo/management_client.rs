//! A minimal client of the management API.

use companion_domain::model::Secret;
use std::{io, net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
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

/// Sends changes to the management API, each over its own connection.
#[derive(Debug, Clone)]
pub struct ManagementClient {
    address: SocketAddr,
    key: Secret,
}

impl ManagementClient {
    /// Creates a client of the API at this address.
    #[must_use]
    pub const fn new(address: SocketAddr, key: Secret) -> Self {
        Self { address, key }
    }

    /// Sends a change. Any status but 200 is an error.
    pub async fn send(&self, method: &str, path: &str, body: &str) -> Result<(), RequestError> {
        let exchange = timeout(REQUEST_TIMEOUT, self.exchange(method, path, body));
        let answer = exchange.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        match head.split(' ').nth(1) {
            Some("200") => Ok(()),
            _ => Err(RequestError::Refused(body.to_owned())),
        }
    }

    async fn exchange(&self, method: &str, path: &str, body: &str) -> io::Result<String> {
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
        let mut answer = String::new();
        stream.take(MAX_RESPONSE_BYTES).read_to_string(&mut answer).await?;
        Ok(answer)
    }
}
