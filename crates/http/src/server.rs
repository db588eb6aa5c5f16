//! Listening and stopping.

use crate::{
    guard::{
        ACCEPTED_AHEAD, Admission, Door, Drain, GuardedStream, ServerLimits, Stage, guarded, last_call,
        watched,
    },
    public::PublicApi,
    repeated::Summaries,
    shell::{Application, Shell},
    tls::{Plain, Tls, Transport},
};
use actix_http::{HttpService, KeepAlive, error::DispatchError};
use actix_server::Server;
use actix_service::{IntoServiceFactory as _, ServiceFactory, ServiceFactoryExt as _, map_config};
use actix_web::{
    App,
    dev::{AppConfig, ServerHandle},
};
use socket2::SockRef;
use std::{
    future::Future,
    io,
    net::{SocketAddr, TcpListener},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    net::TcpStream,
    task::JoinHandle,
    time::{Instant, sleep, timeout, timeout_at},
};

/// How many connections may wait to be accepted: a crowd that comes back at once is let in, not left to try again a second
/// later. The system may allow fewer.
const BACKLOG: i32 = 4096;

/// How much of what was written the system keeps for a client until it is read; Linux doubles it. Usual answers fit, and it
/// bounds what is done for a client that asks and does not read.
const SEND_BUFFER: usize = 32 * 1024;

/// What a listener is given: where it listens, and what it shows of itself there.
#[derive(Debug)]
pub struct Socket {
    /// Bound already.
    pub listener: TcpListener,
    /// Without it, plain HTTP is spoken.
    pub tls: Option<Tls>,
    /// Whether someone else holds it too, and lets others connect when we end.
    pub shared: bool,
}

impl From<TcpListener> for Socket {
    fn from(listener: TcpListener) -> Self {
        Self { listener, tls: None, shared: false }
    }
}

/// How long those who wait to be accepted have until the listener is closed.
const LAST_CALL: Duration = Duration::from_millis(100);
/// How long the answers of those who were told to wait no longer have to be sent.
const LAST_ANSWERS: Duration = Duration::from_millis(200);

/// A server that runs. Awaiting it waits for its end; dropping it leaves it running.
#[derive(Debug)]
pub struct Listening {
    addr: SocketAddr,
    /// Stops, pauses and resumes the server.
    pub handle: ServerHandle,
    task: JoinHandle<io::Result<()>>,
    /// Ends connections that are late.
    sweeping: JoinHandle<()>,
    /// The same listener once more.
    listener: TcpListener,
    /// Whether someone else holds it too.
    shared: bool,
    admission: Admission,
    drain: Drain,
    /// How long requests in flight may take when it stops.
    longest_drain: Duration,
    summaries: Summaries,
}

impl Listening {
    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Announces the end: from now on each answer is the last of its connection, so that clients and their balancers move on.
    pub fn close_connections(&self) {
        self.drain.advance(Stage::Closing);
    }

    /// Waits for nothing any more: requests that still do are answered with 503.
    pub fn wait_no_longer(&self) {
        advance(&self.drain, &self.admission, Stage::Over);
    }

    /// Stops: no new connections, requests in flight are finished, and then it is over.
    pub async fn stop(self) -> io::Result<()> {
        let longest = self.longest_drain;
        self.stop_by(Instant::now() + longest).await
    }

    /// The same, with so much time for requests in flight. Then those that still wait are answered with 503.
    pub async fn stop_by(self, deadline: Instant) -> io::Result<()> {
        let Self { handle, task, sweeping, listener, shared, admission, drain, summaries, .. } = self;
        if shared {
            // Whoever waits at a listener that others hold is let in by whoever serves it next. Those that were let in already
            // are on their way to a worker, which a server that stops at once would not wait for.
            handle.pause().await;
        } else {
            last_call(&listener);
        }
        drop(listener);
        drain.advance(Stage::Closing);
        sleep(LAST_CALL).await;
        advance(&drain, &admission, Stage::Leaving);
        // This closes the listener.
        drop(handle.stop(true));
        if timeout_at(deadline, admission.empty()).await.is_err() {
            advance(&drain, &admission, Stage::Over);
            let _ = timeout(LAST_ANSWERS, admission.empty()).await;
        }
        summaries.iter().for_each(|counted| counted.summarise());
        // By itself the server looks only once a second whether everyone has left.
        task.abort();
        sweeping.abort();
        match task.await {
            Ok(ended) => ended,
            Err(ended) if ended.is_cancelled() => Ok(()),
            Err(panicked) => Err(io::Error::other(panicked)),
        }
    }
}

/// Goes on with stopping, and lets every connection notice.
fn advance(drain: &Drain, admission: &Admission, stage: Stage) {
    drain.advance(stage);
    admission.wake();
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
pub fn serve_public(
    api: PublicApi,
    socket: impl Into<Socket>,
    limits: ServerLimits,
) -> io::Result<Listening> {
    let shell = api.shell.clone();
    serve(move || api.app(), &shell, socket, limits)
}

/// Serves an application with this shell on a bound listener. To be called within a tokio runtime.
pub fn serve<F, T>(
    app: F,
    shell: &Shell,
    socket: impl Into<Socket>,
    limits: ServerLimits,
) -> io::Result<Listening>
where
    F: Fn() -> App<T> + Send + Clone + 'static,
    T: Application + 'static,
    T::Future: 'static,
{
    let Socket { listener, tls, shared } = socket.into();
    let addr = listener.local_addr()?;
    let socket = SockRef::from(&listener);
    // A listener that was bound by the standard library lets 128 wait.
    socket.listen(BACKLOG)?;
    // Its connections have the same.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    // What lies in that buffer counts as sent here, so only the system can tell that nobody takes it.
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(limits.patience))?;
    let workers = limits.workers.max(1);
    let door = Door { admission: shell.admission().clone(), drain: shell.drain().clone(), limits };
    let (admission, drain) = (door.admission.clone(), door.drain.clone());
    let sweeping = tokio::spawn(admission.clone().sweep(limits));
    let accepting = listener.try_clone()?;
    let server = Server::build()
        .workers(workers)
        // The guard refuses connections, or evicts idle ones. More than it can look at at once wait to be accepted, so that
        // they take no descriptors.
        .max_concurrent_connections(limits.connections.div_ceil(workers) + ACCEPTED_AHEAD)
        // Long enough never to matter: who has had time enough is known when it stops.
        .shutdown_timeout(60)
        .disable_signals();
    let server = match tls {
        None => server.listen("companion", accepting, move || connections(app(), door.clone(), Plain))?,
        Some(tls) => {
            server.listen("companion", accepting, move || connections(app(), door.clone(), tls.clone()))?
        }
    };
    let server = server.run();
    Ok(Listening {
        addr,
        handle: server.handle(),
        task: tokio::spawn(server),
        sweeping,
        listener,
        shared,
        admission,
        drain,
        longest_drain: limits.drain,
        summaries: shell.summaries(),
    })
}

/// What a worker does with each connection.
fn connections<T, C>(
    app: App<T>,
    door: Door,
    transport: C,
) -> impl ServiceFactory<TcpStream, Config = (), Response = (), Error = DispatchError, InitError = ()>
where
    T: Application + 'static,
    T::Future: 'static,
    C: Transport,
{
    let app = app.into_factory().map_err(|error: actix_web::Error| error.error_response());
    let server = HttpService::build()
        // The guard has deadlines of its own, and closes connections itself.
        .client_request_timeout(Duration::ZERO)
        .client_disconnect_timeout(Duration::ZERO)
        .keep_alive(KeepAlive::Os)
        // One slice of an answer at a time.
        .h1_write_buffer_size(1024)
        .on_connect_ext(|stream: &GuardedStream<C::Stream>, data| {
            data.insert(Rc::clone(stream.connection()));
        })
        .h1(watched(map_config(app, |()| AppConfig::default())));
    guarded(server, door, transport)
}
