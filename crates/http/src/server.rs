//! Starts and stops the HTTP server.

use crate::{
    edge::{Application, Shell},
    guard::{
        ConnectionHandler, GuardedStream, MAX_EXCESS_CONNECTIONS, ServerLimits, Stage,
        reject_new_connections, track_responses,
    },
    public::PublicApi,
    tls::{Plain, Tls, Transport},
};
use actix_http::{HttpService, KeepAlive, ServiceConfig, error::DispatchError};
use actix_server::Server;
use actix_service::{
    IntoServiceFactory as _, ServiceFactory, ServiceFactoryExt as _, fn_factory, fn_service, map_config,
};
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

/// Length of the accept queue. Clients that all reconnect at once are queued; a shorter queue would drop their SYN
/// packets and make them retry a second later. The system may lower it.
const BACKLOG: i32 = 4096;

/// Socket send buffer, which Linux doubles. Usual responses fit, and it bounds the memory of a client that sends
/// requests and does not read.
const SEND_BUFFER: usize = 32 * 1024;

/// A bound socket and how to serve it.
#[derive(Debug)]
pub struct Socket {
    /// The bound listener.
    pub listener: TcpListener,
    /// The TLS identity; `None` serves plain HTTP.
    pub tls: Option<Tls>,
    /// Whether another process holds the listener too and will accept connections after this one stops.
    pub shared: bool,
}

/// Time for connections in the accept queue before the listener is closed.
const ACCEPT_GRACE: Duration = Duration::from_millis(100);
/// Time to send the 503 responses of requests cancelled at the drain deadline.
const FINAL_RESPONSES_GRACE: Duration = Duration::from_millis(200);

/// A running server. Awaiting it waits until it stops; dropping it leaves it running.
pub struct RunningServer {
    addr: SocketAddr,
    /// Stops, pauses and resumes the server.
    pub handle: ServerHandle,
    task: JoinHandle<io::Result<()>>,
    /// Task that ends connections that have timed out.
    sweeping: JoinHandle<()>,
    /// A duplicate of the listening socket.
    listener: TcpListener,
    /// Whether another process holds the listener too.
    shared: bool,
    shell: Shell,
    /// Time for requests in flight when it stops.
    longest_drain: Duration,
}

impl RunningServer {
    /// Returns the local address.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Makes every response close its connection from now on, so that clients and load balancers move to another node.
    pub fn close_connections(&self) {
        self.shell.drain.advance(Stage::Closing);
    }

    /// Cancels requests in flight and answers them with 503.
    pub fn cancel_requests(&self) {
        self.shell.advance(Stage::Cancelling);
    }

    /// Stops gracefully: accepts no new connections, then waits for requests in flight, at most for the configured
    /// drain time.
    pub async fn stop(self) -> io::Result<()> {
        let longest = self.longest_drain;
        self.stop_by(Instant::now() + longest).await
    }

    /// Stops gracefully by `deadline`. Requests still in flight then are answered with 503.
    pub async fn stop_by(self, deadline: Instant) -> io::Result<()> {
        let Self { handle, task, sweeping, listener, shared, shell, .. } = self;
        if shared {
            // The next process accepts what is still in the shared queue. Connections accepted here may still be on
            // their way to a worker, and a server stopped at once would not wait for them.
            handle.pause().await;
        } else {
            reject_new_connections(&listener);
        }
        drop(listener);
        shell.drain.advance(Stage::Closing);
        sleep(ACCEPT_GRACE).await;
        shell.advance(Stage::ClosingIdle);
        // This closes the listener.
        drop(handle.stop(true));
        if timeout_at(deadline, shell.limiter.empty()).await.is_err() {
            shell.advance(Stage::Cancelling);
            let _ = timeout(FINAL_RESPONSES_GRACE, shell.limiter.empty()).await;
        }
        shell.summarise();
        // The server itself checks only once a second whether all connections have closed.
        task.abort();
        sweeping.abort();
        match task.await {
            Ok(ended) => ended,
            Err(ended) if ended.is_cancelled() => Ok(()),
            Err(panicked) => Err(io::Error::other(panicked)),
        }
    }
}

impl Future for RunningServer {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.task)
            .poll(context)
            .map(|ended| ended.unwrap_or_else(|error| Err(io::Error::other(error))))
    }
}

/// Serves the public API on a bound listener. Must be called within a tokio runtime.
pub fn serve_public(api: PublicApi, socket: Socket, limits: ServerLimits) -> io::Result<RunningServer> {
    let shell = api.shell.clone();
    serve(move || api.app(), &shell, socket, limits)
}

/// Serves an application with this shell on a bound listener. Must be called within a tokio runtime.
pub fn serve<F, T>(app: F, shell: &Shell, socket: Socket, limits: ServerLimits) -> io::Result<RunningServer>
where
    F: Fn() -> App<T> + Send + Clone + 'static,
    T: Application + 'static,
    T::Future: 'static,
{
    let Socket { listener, tls, shared } = socket;
    let addr = listener.local_addr()?;
    let socket = SockRef::from(&listener);
    // The standard library binds with a backlog of 128.
    socket.listen(BACKLOG)?;
    // Accepted sockets inherit it.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    // Bytes in the send buffer count as sent here, so only the kernel can detect a client that does not acknowledge
    // them.
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(limits.patience))?;
    let workers = limits.workers.max(1);
    let handler = ConnectionHandler { limiter: shell.limiter.clone(), drain: shell.drain.clone(), limits };
    let sweeping = tokio::spawn(handler.limiter.clone().sweep(limits));
    let accepting = listener.try_clone()?;
    let server = Server::build()
        .workers(workers)
        // The guard refuses connections or evicts idle ones. Beyond what it can handle at once, they stay in the accept
        // queue, where they use no file descriptors.
        .max_concurrent_connections(limits.connections.div_ceil(workers) + MAX_EXCESS_CONNECTIONS)
        // Longer than any drain: `stop_by` enforces the deadline.
        .shutdown_timeout(60)
        .disable_signals();
    let server = match tls {
        None => server
            .listen("companion", accepting, move || connection_service(app(), handler.clone(), Plain))?,
        Some(tls) => server.listen("companion", accepting, move || {
            connection_service(app(), handler.clone(), tls.clone())
        })?,
    };
    let server = server.run();
    Ok(RunningServer {
        addr,
        handle: server.handle(),
        task: tokio::spawn(server),
        sweeping,
        listener,
        shared,
        shell: shell.clone(),
        longest_drain: limits.drain,
    })
}

/// Returns the service that a worker runs for each connection.
fn connection_service<T, C>(
    app: App<T>,
    handler: ConnectionHandler,
    transport: C,
) -> impl ServiceFactory<TcpStream, Config = (), Response = (), Error = DispatchError, InitError = ()>
where
    T: Application + 'static,
    T::Future: 'static,
    C: Transport,
{
    let app = app.into_factory().map_err(|error: actix_web::Error| error.error_response());
    let server = HttpService::build()
        // The guard has its own timeouts and closes connections itself.
        .client_request_timeout(Duration::ZERO)
        .client_disconnect_timeout(Duration::ZERO)
        .keep_alive(KeepAlive::Os)
        // Buffer one slice of a response at a time.
        .h1_write_buffer_size(1024)
        .on_connect_ext(|stream: &GuardedStream<C::Stream>, data| {
            data.insert(Rc::clone(stream.connection()));
        })
        .h1(track_responses(map_config(app, |()| AppConfig::default())));
    fn_factory(move || {
        let (handler, transport) = (handler.clone(), transport.clone());
        let made = server.new_service(());
        async move {
            let shared = Rc::new((handler, transport, made.await?, ServiceConfig::default()));
            Ok(fn_service(move |stream: TcpStream| {
                let shared = Rc::clone(&shared);
                async move {
                    let (handler, transport, server, config) = &*shared;
                    handler.serve(stream, transport, server, config).await
                }
            }))
        }
    })
}
