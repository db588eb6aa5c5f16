//! The raw connection of a request, for faults below HTTP.

use socket2::{SockRef, Socket};
use std::{any::Any, io::Write, net::Shutdown};

/// A second handle on a connection, dropped with it.
pub(crate) struct RawConnection(Socket);

impl RawConnection {
    /// Creates a handle on a connection as actix passes it.
    pub(crate) fn of(connection: &dyn Any) -> Option<Self> {
        let stream = connection.downcast_ref::<actix_web::rt::net::TcpStream>()?;
        SockRef::from(stream).try_clone().ok().map(Self)
    }

    /// Closes the connection without a response.
    pub(crate) fn close(&self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }

    /// Sends raw bytes. They must be few: bytes that do not fit into the send buffer are lost.
    pub(crate) fn send(&self, bytes: &[u8]) -> std::io::Result<()> {
        (&self.0).write_all(bytes)
    }
}
