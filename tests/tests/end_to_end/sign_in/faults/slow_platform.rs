//! A platform that takes its time: it stands before the real one, and passes each request on after a while.

use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::sleep,
};

/// How long a request takes, by the path it asks for.
pub(super) type Pace = fn(&str) -> Duration;

pub(super) struct SlowPlatform {
    pub(super) address: SocketAddr,
    task: JoinHandle<()>,
}

impl SlowPlatform {
    pub(super) async fn before(real: SocketAddr, pace: Pace) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(pass_on(stream, real, pace));
            }
        });
        Self { address, task }
    }
}

impl Drop for SlowPlatform {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Passes one request on, and everything that comes back; then the connection ends.
async fn pass_on(mut asker: TcpStream, real: SocketAddr, pace: Pace) -> Option<()> {
    let request = whole_request(&mut asker).await?;
    let path = request.split(' ').nth(1)?;
    sleep(pace(path)).await;
    let mut platform = TcpStream::connect(real).await.ok()?;
    let last = request.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    platform.write_all(last.as_bytes()).await.ok()?;
    tokio::io::copy(&mut platform, &mut asker).await.ok()?;
    Some(())
}

async fn whole_request(asker: &mut TcpStream) -> Option<String> {
    let mut text = String::new();
    let mut piece = [0; 4096];
    while !is_whole(&text) {
        let read = asker.read(&mut piece).await.ok().filter(|read| *read > 0)?;
        text += std::str::from_utf8(&piece[..read]).ok()?;
    }
    Some(text)
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}
