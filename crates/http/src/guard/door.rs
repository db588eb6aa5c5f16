//! The way from a listener to the server: who is too many is turned away, and who says nothing costs next to nothing.

use super::{
    admission::{Admission, Admitted, ConnectionLimits},
    drain::{Drain, Stage},
    stream::GuardedStream,
};
use crate::tls::Transport;
use actix_http::error::DispatchError;
use actix_service::{Service, ServiceFactory, forward_ready};
use futures_util::future::{FutureExt as _, LocalBoxFuture, TryFutureExt as _};
use std::{io, net::SocketAddr, rc::Rc, time::Duration};
use tokio::{net::TcpStream, time::sleep};

/// How long a client may make us wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For the first byte, and with TLS for the handshake.
    pub(crate) first: Duration,
    /// For the rest of a head, or until an answer is read.
    pub(crate) later: Duration,
}

/// What everyone who connects passes through.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) admission: Admission,
    pub(crate) drain: Drain,
    pub(crate) limits: ConnectionLimits,
    pub(crate) patience: Patience,
}

impl Door {
    fn admit(&self, stream: &TcpStream) -> Result<(Admitted, Option<SocketAddr>), DispatchError> {
        let peer = stream.peer_addr().ok();
        // An answer is written whole, so its last part has nothing to wait for.
        stream.set_nodelay(true).map_err(DispatchError::Io)?;
        let admitted = self.admission.admit(self.limits, peer.map(|peer| peer.ip()));
        let admitted = admitted.ok_or_else(|| DispatchError::Io(io::ErrorKind::ConnectionRefused.into()))?;
        Ok((admitted, peer))
    }

    /// Waits for the first byte. Whether there will be any more is not asked for here.
    async fn first_byte<T: Transport>(
        &self,
        stream: &TcpStream,
        admitted: &Admitted,
    ) -> Result<(), DispatchError> {
        tokio::select! {
            biased;
            readable = stream.readable() => readable.map_err(DispatchError::Io),
            () = sleep(self.patience.first) => {
                admitted.cut_off();
                // Whether or not it can be written, that is the end.
                let _ = stream.try_write(T::TOO_LATE);
                Err(DispatchError::SlowRequestTimeout)
            }
            () = self.drain.clone().reached(Stage::Over) => Err(DispatchError::SlowRequestTimeout),
        }
    }

    /// Comes to terms with a client. A handshake has the time of a first head, and with no more of them at once.
    async fn open<T: Transport>(
        &self,
        transport: &T,
        stream: TcpStream,
        admitted: &Admitted,
    ) -> Result<T::Stream, DispatchError> {
        tokio::select! {
            biased;
            opened = transport.open(stream) => opened.map_err(DispatchError::Io),
            () = sleep(self.patience.first) => {
                admitted.cut_off();
                Err(DispatchError::SlowRequestTimeout)
            }
            () = self.drain.clone().reached(Stage::Over) => Err(DispatchError::SlowRequestTimeout),
        }
    }
}

/// A server behind a door.
pub(crate) struct Guarded<S, T> {
    pub(crate) door: Door,
    pub(crate) transport: T,
    pub(crate) server: S,
}

/// A connection on its way to the server.
type Entering<T> = (GuardedStream<<T as Transport>::Stream>, Option<SocketAddr>);

impl<S, T> ServiceFactory<TcpStream> for Guarded<S, T>
where
    T: Transport,
    S: ServiceFactory<Entering<T>, Config = (), Response = (), Error = DispatchError, InitError = ()>,
    S::Service: 'static,
    S::Future: 'static,
{
    type Response = ();
    type Error = DispatchError;
    type Config = ();
    type Service = Guarded<Rc<S::Service>, T>;
    type InitError = ();
    type Future = LocalBoxFuture<'static, Result<Self::Service, ()>>;

    fn new_service(&self, (): ()) -> Self::Future {
        let (door, transport) = (self.door.clone(), self.transport.clone());
        let made = self.server.new_service(());
        made.map_ok(|server| Guarded { door, transport, server: Rc::new(server) }).boxed_local()
    }
}

impl<S, T> Service<TcpStream> for Guarded<Rc<S>, T>
where
    T: Transport,
    S: Service<Entering<T>, Response = (), Error = DispatchError> + 'static,
{
    type Response = ();
    type Error = DispatchError;
    type Future = LocalBoxFuture<'static, Result<(), DispatchError>>;

    forward_ready!(server);

    fn call(&self, stream: TcpStream) -> Self::Future {
        let (door, server) = (self.door.clone(), Rc::clone(&self.server));
        let transport = self.transport.clone();
        let entered = async move {
            let (admitted, peer) = door.admit(&stream)?;
            door.first_byte::<T>(&stream, &admitted).await?;
            let stream = door.open(&transport, stream, &admitted).await?;
            let stream = GuardedStream::new(stream, admitted, door.patience.later, &door.drain);
            // A server has buffers for each connection, so it is not asked before there is something to read. The box keeps
            // the room for them out of this future.
            Box::pin(server.call((stream, peer))).await
        };
        entered.boxed_local()
    }
}
