//! The bare connection under a request, for faults below HTTP.

use socket2::{SockRef, Socket};
use std::{any::Any, io::Write, net::Shutdown};

/// A second handle on a connection. It goes when the connection goes.
pub(crate) struct RawConnection(Socket);

impl RawConnection {
    /// A handle on a connection, as actix hands it over.
    pub(crate) fn of(connection: &dyn Any) -> Option<Self> {
        let stream = connection.downcast_ref::<actix_web::rt::net::TcpStream>()?;
        SockRef::from(stream).try_clone().ok().map(Self)
    }

    /// Closes the connection without an answer.
    pub(crate) fn close(&self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }

    /// Sends these bytes as they are. They must be few: what does not fit at once is lost.
    pub(crate) fn send(&self, bytes: &[u8]) -> std::io::Result<()> {
        (&self.0).write_all(bytes)
    }
}
