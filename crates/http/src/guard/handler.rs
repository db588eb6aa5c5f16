//! Lifecycle of a connection: admission, first byte, TLS handshake, requests and lingering close.

use super::{
    ServerLimits,
    drain::{Drain, Stage},
    limiter::{ConnectionLimiter, ConnectionPermit},
    stream::{Connection, GuardedStream},
};
use crate::tls::Transport;
use actix_http::{ServiceConfig, error::DispatchError};
use actix_service::Service;
use std::{
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    task::Poll,
};
use tokio::{net::TcpStream, time::timeout};

/// State shared by all connections of a listener.
#[derive(Clone)]
pub(crate) struct ConnectionHandler {
    pub(crate) limiter: ConnectionLimiter,
    pub(crate) drain: Drain,
    pub(crate) limits: ServerLimits,
}

impl ConnectionHandler {
    /// Guards a connection, and passes it to the HTTP server if it is admitted.
    pub(crate) async fn serve<S, T>(
        &self,
        stream: TcpStream,
        transport: &T,
        server: &S,
        config: &ServiceConfig,
    ) -> Result<(), DispatchError>
    where
        T: Transport,
        S: Service<(GuardedStream<T::Stream>, Option<SocketAddr>), Response = (), Error = DispatchError>,
    {
        let peer = stream.peer_addr().ok();
        let permit = self.limiter.admit(&self.limits, peer.map(|peer| peer.ip()));
        let permit = permit.ok_or(DispatchError::Io(io::ErrorKind::ConnectionRefused.into()))?;
        permit.bind(&poll_fn(|context| Poll::Ready(context.waker().clone())).await);
        // Responses are written whole, so Nagle's algorithm would only delay the last segment.
        stream.set_nodelay(true)?;
        if self.unless_ended(&permit, stream.readable()).await.is_err() {
            // Best effort: the connection closes whether or not the client receives it.
            let _ = stream.try_write(T::REQUEST_TIMEOUT);
            return Err(DispatchError::SlowRequestTimeout);
        }
        let stream = self.unless_ended(&permit, transport.open(stream)).await?;
        let stream = GuardedStream::new(stream, Connection::new(permit, &self.drain, config));
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
        permit: &ConnectionPermit,
        work: impl Future<Output = io::Result<R>>,
    ) -> Result<R, DispatchError> {
        let has_ended = || permit.has_ended() || self.drain.has_reached(Stage::Cancelling);
        let ended = poll_fn(|_| if has_ended() { Poll::Ready(()) } else { Poll::Pending });
        tokio::select! {
            biased;
            done = work => Ok(done?),
            () = ended => Err(DispatchError::SlowRequestTimeout),
        }
    }
}
