//! The bare connection under a request, for faults that HTTP has no words for.

use socket2::{SockRef, Socket};
use std::{any::Any, io::Write, net::Shutdown};

/// A second handle on a connection. It goes when the connection goes.
pub(crate) struct Line(Socket);

impl Line {
    /// The line of a connection, as the server hands it over.
    pub(crate) fn of(connection: &dyn Any) -> Option<Self> {
        let stream = connection.downcast_ref::<actix_web::rt::net::TcpStream>()?;
        SockRef::from(stream).try_clone().ok().map(Self)
    }

    /// Hangs up without a word.
    pub(crate) fn hang_up(&self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }

    /// Sends these bytes as they are. They must be few: what does not fit at once is lost.
    pub(crate) fn send(&self, bytes: &[u8]) -> std::io::Result<()> {
        (&self.0).write_all(bytes)
    }
}
