//! Lifecycle of a connection: admission, first byte, TLS handshake, requests and lingering close.

use super::{
    ServerLimits,
    admission::{Admission, Place},
    drain::{Drain, Stage},
    stream::{Connection, GuardedStream},
};
use crate::tls::Transport;
use actix_http::{ServiceConfig, error::DispatchError};
use actix_service::{Service, ServiceFactory, fn_factory, fn_service};
use std::{
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    rc::Rc,
    task::Poll,
};
use tokio::{net::TcpStream, time::timeout};

/// State shared by all connections of a listener.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) admission: Admission,
    pub(crate) drain: Drain,
    pub(crate) limits: ServerLimits,
}

/// An admitted connection on its way to the server.
type Entering<T> = (GuardedStream<<T as Transport>::Stream>, Option<SocketAddr>);

/// Wraps the HTTP server in the guard.
pub(crate) fn guarded<S, T>(
    server: S,
    door: Door,
    transport: T,
) -> impl ServiceFactory<TcpStream, Config = (), Response = (), Error = DispatchError, InitError = ()>
where
    T: Transport,
    S: ServiceFactory<Entering<T>, Config = (), Response = (), Error = DispatchError, InitError = ()>,
    S::Service: 'static,
    S::Future: 'static,
{
    fn_factory(move || {
        let (door, transport) = (door.clone(), transport.clone());
        let made = server.new_service(());
        async move {
            let (server, config) = (Rc::new(made.await?), ServiceConfig::default());
            Ok(fn_service(move |stream: TcpStream| {
                let (door, transport, server) = (door.clone(), transport.clone(), Rc::clone(&server));
                let config = config.clone();
                async move { door.serve(stream, &transport, &*server, &config).await }
            }))
        }
    })
}

impl Door {
    async fn serve<S, T>(
        &self,
        stream: TcpStream,
        transport: &T,
        server: &S,
        config: &ServiceConfig,
    ) -> Result<(), DispatchError>
    where
        T: Transport,
        S: Service<Entering<T>, Response = (), Error = DispatchError>,
    {
        let peer = stream.peer_addr().ok();
        let place = self.admission.admit(&self.limits, peer.map(|peer| peer.ip()));
        let place = place.ok_or(DispatchError::Io(io::ErrorKind::ConnectionRefused.into()))?;
        place.bind(&poll_fn(|context| Poll::Ready(context.waker().clone())).await);
        // Responses are written whole, so Nagle's algorithm would only delay the last segment.
        stream.set_nodelay(true)?;
        if self.unless_ended(&place, stream.readable()).await.is_err() {
            // Best effort: the connection closes whether or not the client receives it.
            let _ = stream.try_write(T::TOO_LATE);
            return Err(DispatchError::SlowRequestTimeout);
        }
        let stream = self.unless_ended(&place, transport.open(stream)).await?;
        let stream = GuardedStream::new(stream, Connection::new(place, &self.drain, config));
        // The server allocates buffers, so it is called only once there is something to read. Boxing keeps its state
        // out of this future, which every waiting connection holds.
        let served = Box::pin(server.call((stream.clone(), peer))).await;
        let _ = timeout(self.limits.disconnect, stream.linger()).await;
        served
    }

    /// Awaits `work` until the connection is timed out, evicted or drained. Returns `SlowRequestTimeout` in those
    /// cases.
    async fn unless_ended<R>(
        &self,
        place: &Place,
        work: impl Future<Output = io::Result<R>>,
    ) -> Result<R, DispatchError> {
        let ended = poll_fn(|_| match place.has_ended() || self.drain.has_reached(Stage::Over) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        });
        tokio::select! {
            biased;
            done = work => Ok(done?),
            () = ended => Err(DispatchError::SlowRequestTimeout),
        }
    }
}
