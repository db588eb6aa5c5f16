//! A client of the management API, as small as a bot's could be.

use companion_domain::model::Secret;
use std::{io, net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// An answer to a change is far smaller.
const LARGEST_ANSWER: u64 = 64 * 1024;

/// Why a request did not do what it was meant to.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// It did not get through.
    #[error("the management API cannot be reached: {0}")]
    Io(#[from] io::Error),
    /// It got through, and was refused.
    #[error("the management API answered: {0}")]
    Refused(String),
}

/// Sends changes to the management API, each over a connection of its own.
#[derive(Debug, Clone)]
pub struct ManagementClient {
    address: SocketAddr,
    key: Secret,
}

impl ManagementClient {
    /// A client of the API at this address, with this key.
    #[must_use]
    pub const fn new(address: SocketAddr, key: Secret) -> Self {
        Self { address, key }
    }

    /// Sends a change. Anything but 200 is an error.
    pub async fn send(&self, method: &str, path: &str, body: &str) -> Result<(), RequestError> {
        let exchange = timeout(PATIENCE, self.exchange(method, path, body));
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
        stream.take(LARGEST_ANSWER).read_to_string(&mut answer).await?;
        Ok(answer)
    }
}
