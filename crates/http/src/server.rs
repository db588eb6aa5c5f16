//! Listening and stopping.

use crate::{
    public::PublicApi,
    repeated::Summaries,
    shell::{Application, Shell},
};
use actix_web::{App, HttpServer, dev::ServerHandle};
use socket2::SockRef;
use std::{
    future::Future,
    io,
    net::{SocketAddr, TcpListener},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::task::JoinHandle;

/// How many connections may wait to be accepted: a crowd that comes back at once is let in, not left to try again a second
/// later. The system may allow fewer.
const BACKLOG: i32 = 4096;

/// What a listener grants its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// How many threads answer.
    pub workers: usize,
    /// How many connections may be open at once, over all threads.
    pub connections: usize,
    /// How long a client may take to send its first request's head.
    pub request_head: Duration,
    /// How long an idle connection is kept.
    pub keep_alive: Duration,
    /// How long a client may take to let go of a connection that was closed.
    pub disconnect: Duration,
    /// How long requests in flight may take when the server stops.
    pub drain: Duration,
}

impl Default for ServerLimits {
    /// Limits for one thread per core. Stopping is over within five seconds, so draining leaves one for the rest.
    fn default() -> Self {
        Self {
            workers: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            connections: 20_000,
            request_head: Duration::from_secs(5),
            keep_alive: Duration::from_secs(75),
            disconnect: Duration::from_secs(1),
            drain: Duration::from_secs(4),
        }
    }
}

/// A server that runs. Awaiting it waits for its end; dropping it leaves it running.
#[derive(Debug)]
pub struct Listening {
    addr: SocketAddr,
    /// Stops, pauses and resumes the server.
    pub handle: ServerHandle,
    task: JoinHandle<io::Result<()>>,
    summaries: Summaries,
}

impl Listening {
    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops: no new connections, requests in flight are finished, and then it is over.
    pub async fn stop(mut self) -> io::Result<()> {
        self.handle.stop(true).await;
        let ended = (&mut self).await;
        self.summaries.iter().for_each(|counted| counted.summarise());
        ended
    }
}

impl Future for Listening {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.task)
            .poll(context)
            .map(|ended| ended.unwrap_or_else(|error| Err(io::Error::other(error))))
    }
}

/// Serves the public API on a bound listener. To be called within a tokio runtime.
pub fn serve_public(api: PublicApi, listener: TcpListener, limits: ServerLimits) -> io::Result<Listening> {
    let shell = api.shell.clone();
    serve(move || api.app(), &shell, listener, limits)
}

/// Serves an application with this shell on a bound listener. To be called within a tokio runtime.
pub fn serve<F, T>(
    app: F,
    shell: &Shell,
    listener: TcpListener,
    limits: ServerLimits,
) -> io::Result<Listening>
where
    F: Fn() -> App<T> + Send + Clone + 'static,
    T: Application + 'static,
    T::Future: 'static,
{
    let addr = listener.local_addr()?;
    // A listener that was bound by the standard library lets 128 wait.
    SockRef::from(&listener).listen(BACKLOG)?;
    let workers = limits.workers.max(1);
    let server = HttpServer::new(app)
        .workers(workers)
        .max_connections(limits.connections.div_ceil(workers).max(1))
        .client_request_timeout(limits.request_head)
        .client_disconnect_timeout(limits.disconnect)
        .keep_alive(limits.keep_alive)
        // An answer is written whole, so its last part has nothing to wait for.
        .tcp_nodelay(true)
        .shutdown_timeout(limits.drain.as_secs())
        .disable_signals()
        .listen(listener)?
        .run();
    Ok(Listening { addr, handle: server.handle(), task: tokio::spawn(server), summaries: shell.summaries() })
}
