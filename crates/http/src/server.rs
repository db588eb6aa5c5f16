//! Listening and stopping.

use crate::{
    guard::{Admission, ConnectionLimits, GuardedStream, Watched},
    public::PublicApi,
    repeated::Summaries,
    shell::{Application, Shell},
};
use actix_http::{HttpService, error::DispatchError};
use actix_server::{GracefulShutdownSignal, Server};
use actix_service::{
    IntoServiceFactory as _, ServiceFactory, ServiceFactoryExt as _, fn_service, map_config,
};
use actix_web::{
    App,
    dev::{AppConfig, ServerHandle},
};
use socket2::SockRef;
use std::{
    future::{Future, ready},
    io,
    net::{SocketAddr, TcpListener},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{net::TcpStream, task::JoinHandle};

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
    /// How many of them one address may have.
    pub connections_per_address: usize,
    /// How long a client may take to send its first request's head.
    pub request_head: Duration,
    /// How long a client may leave a later head unfinished, or an answer unread.
    pub patience: Duration,
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
            connections_per_address: 4000,
            request_head: Duration::from_secs(5),
            patience: Duration::from_secs(8),
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
    let (builder, admission) = (Server::build(), shell.admission().clone());
    let draining = builder.graceful_shutdown_signal();
    let connections = move || guarded(app(), admission.clone(), limits, draining.clone());
    let server = builder
        .workers(workers)
        // Whoever is too many is turned away by the guard; here they would be left to wait.
        .max_concurrent_connections(usize::MAX)
        .shutdown_timeout(limits.drain.as_secs())
        .disable_signals()
        .listen("companion", listener, connections)?
        .run();
    Ok(Listening { addr, handle: server.handle(), task: tokio::spawn(server), summaries: shell.summaries() })
}

/// What is done with each connection of a worker.
fn guarded<T>(
    app: App<T>,
    admission: Admission,
    limits: ServerLimits,
    draining: GracefulShutdownSignal,
) -> impl ServiceFactory<TcpStream, Config = (), Response = (), Error = DispatchError, InitError = ()>
where
    T: Application + 'static,
    T::Future: 'static,
{
    let app = app.into_factory().map_err(|error: actix_web::Error| error.error_response());
    let http = HttpService::build()
        .graceful_shutdown_signal(move || {
            let draining = draining.clone();
            async move { draining.notified().await }
        })
        .client_request_timeout(limits.request_head)
        .client_disconnect_timeout(limits.disconnect)
        .keep_alive(limits.keep_alive)
        .on_connect_ext(|stream: &GuardedStream<TcpStream>, data| {
            data.insert(Rc::clone(stream.connection()));
        })
        .h1(Watched { app: map_config(app, |()| AppConfig::default()) });
    fn_service(move |stream: TcpStream| ready(admit(stream, &admission, limits))).and_then(http)
}

fn admit(
    stream: TcpStream,
    admission: &Admission,
    limits: ServerLimits,
) -> Result<(GuardedStream<TcpStream>, Option<SocketAddr>), DispatchError> {
    let peer = stream.peer_addr().ok();
    // An answer is written whole, so its last part has nothing to wait for.
    stream.set_nodelay(true).map_err(DispatchError::Io)?;
    let most = ConnectionLimits { all: limits.connections, per_address: limits.connections_per_address };
    let admitted = admission.admit(most, peer.map(|peer| peer.ip()));
    let admitted = admitted.ok_or_else(|| DispatchError::Io(io::ErrorKind::ConnectionRefused.into()))?;
    Ok((GuardedStream::new(stream, admitted, limits.patience), peer))
}
