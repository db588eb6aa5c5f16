//! The stream that the server reads and writes: one request at a time.

use super::{
    drain::{Drain, Stage},
    framing::{AfterPiece, Body, ChunkedEnd, HeadEnd},
    limiter::{ConnectionPermit, Phase},
};
use crate::tls::REQUEST_TIMEOUT;
use actix_http::ServiceConfig;
use std::{
    cell::{RefCell, RefMut},
    future::{Future as _, poll_fn},
    io::{self, ErrorKind},
    mem::{self, MaybeUninit},
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    task::yield_now,
};

/// Maximum size of a request head.
const MAX_HEAD: usize = 16 * 1024;
/// Above this size, the server's buffer grows and would stay large. The head then counts as buffered, and the
/// connection closes after the response.
const LARGE_HEAD: usize = 7 * 1024;
/// Size of reads from a body.
const BODY_READ: usize = 8192;
/// Size of other reads. Bytes that follow a request are kept until it is answered, so this bounds the memory of a
/// client that pipelines.
const HEAD_READ: usize = 2048;

/// Sent if the request could not be parsed, so without an envelope.
const HEAD_TOO_LARGE: &[u8] =
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// What the server may read next.
enum Incoming {
    /// A head, and the number of bytes already read of it.
    Head(HeadEnd, usize),
    /// The remaining bytes of a body.
    Length(u64),
    Chunked(Box<ChunkedEnd>),
    /// Nothing until the request is answered.
    Nothing,
    /// End of stream.
    Closed,
}

impl Default for Incoming {
    fn default() -> Self {
        Self::Head(HeadEnd::default(), 0)
    }
}

#[derive(Default)]
struct StreamState {
    incoming: Incoming,
    /// Bytes received from the client that the server may not read yet.
    ahead: Vec<u8>,
    /// Whether the connection closes after the current response.
    is_last: bool,
    /// Whether the response is a stream of unknown length.
    is_stream: bool,
    /// Whether the server has buffered the whole response.
    is_answered: bool,
    /// Bytes counted as buffered for the client: of a large head, or of a response it does not read.
    buffered: usize,
}

impl StreamState {
    /// Returns how many of `bytes` the server may read now.
    fn admit(&mut self, bytes: &[u8]) -> usize {
        let (count, is_complete) = match &mut self.incoming {
            Incoming::Head(end, length) => {
                let end = end.find(bytes);
                let count = end.unwrap_or(bytes.len());
                *length += count;
                self.is_last |= *length > LARGE_HEAD;
                (count, end.is_some() && *length <= MAX_HEAD)
            }
            Incoming::Length(left) => {
                let count = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= count as u64;
                (count, *left == 0)
            }
            Incoming::Chunked(end) => match end.find(bytes) {
                AfterPiece::Body => (bytes.len(), false),
                AfterPiece::Rest(rest) => (bytes.len().saturating_sub(rest), true),
                AfterPiece::Malformed => (bytes.len(), true),
            },
            Incoming::Nothing | Incoming::Closed => (0, false),
        };
        if is_complete {
            self.incoming = Incoming::Nothing;
        }
        count
    }
}

/// A connection. Only its own worker uses it.
pub(crate) struct Connection {
    permit: ConnectionPermit,
    drain: Drain,
    config: ServiceConfig,
    state: RefCell<StreamState>,
}

impl Connection {
    pub(super) fn new(permit: ConnectionPermit, drain: &Drain, config: &ServiceConfig) -> Self {
        Self { permit, drain: drain.clone(), config: config.clone(), state: RefCell::default() }
    }

    fn state(&self) -> RefMut<'_, StreamState> {
        self.state.borrow_mut()
    }

    /// Starts a request with this body.
    pub(super) fn begin(&self, body: Body) {
        self.permit.enter(Phase::Busy);
        let mut state = self.state();
        match body {
            Body::Absent => return,
            Body::Length(length) => state.incoming = Incoming::Length(length),
            // Requests after one of these are not answered.
            Body::Chunked => {
                state.is_last = true;
                state.incoming = Incoming::Chunked(Box::new(ChunkedEnd::new(&self.config)));
            }
            Body::Tunnel => state.is_last = true,
        }
        self.permit.wake();
    }

    /// Returns whether part of the body has been received and the server is about to read it. A handler that is polled
    /// before would only wait for it.
    pub(super) fn has_unread_body(&self) -> bool {
        let state = self.state();
        matches!(state.incoming, Incoming::Length(_) | Incoming::Chunked(_)) && !state.ahead.is_empty()
    }

    /// Returns whether the connection closes after the response to the current request.
    pub(super) fn is_last_response(&self, is_stream: bool) -> bool {
        let mut state = self.state();
        let is_body_left = !matches!(state.incoming, Incoming::Nothing);
        let is_ending = self.permit.has_ended() || self.drain.has_reached(Stage::Closing);
        state.is_last |= is_stream || is_body_left || is_ending;
        if is_stream {
            // From now on reads only detect that the client has disconnected.
            (state.is_stream, state.ahead) = (true, Vec::new());
            self.permit.wake();
        }
        state.is_last
    }

    /// Records that the server has buffered the whole response.
    pub(super) fn answered(&self) {
        self.state().is_answered = true;
    }

    /// Records that the server's buffer is flushed. After a complete response, the next request may be read.
    fn written(&self, context: &mut Context<'_>) {
        let mut state = self.state();
        if !mem::take(&mut state.is_answered) {
            return;
        }
        self.permit.enter(Phase::Idle);
        state.incoming = if state.is_last { Incoming::Closed } else { Incoming::default() };
        if state.is_last || !state.ahead.is_empty() {
            // Reschedules this task behind all others that are ready, so that a client that pipelines does not delay
            // them.
            let _ = pin!(yield_now()).poll(context);
        }
    }

    /// Whether the listener is stopping and the client has no request in flight. A client that has just connected, or
    /// has sent part of a head, is given until requests in flight are cancelled.
    fn is_closing_idle(&self) -> bool {
        let stage = if self.permit.phase() == Phase::Idle { Stage::ClosingIdle } else { Stage::Cancelling };
        self.drain.has_reached(stage) && matches!(self.state().incoming, Incoming::Head(..))
    }

    /// Counts bytes as buffered for the client. Returns an error if its address exceeds the limit.
    fn add_buffered(&self, state: &mut StreamState, bytes: usize) -> io::Result<()> {
        state.buffered += bytes;
        if self.permit.add_buffered(bytes) {
            return Ok(());
        }
        self.permit.cut_off();
        Err(ErrorKind::TimedOut.into())
    }

    /// Records that the client has read some of the response.
    fn remove_buffered(&self) {
        let buffered = mem::take(&mut self.state().buffered);
        if buffered > 0 {
            self.permit.remove_buffered(buffered);
            self.permit.enter(Phase::Busy);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.remove_buffered();
    }
}

/// The stream that the server reads and writes. Clones share the connection.
pub(crate) struct GuardedStream<T> {
    io: Rc<RefCell<T>>,
    connection: Rc<Connection>,
}

impl<T> Clone for GuardedStream<T> {
    fn clone(&self) -> Self {
        Self { io: Rc::clone(&self.io), connection: Rc::clone(&self.connection) }
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> GuardedStream<T> {
    pub(super) fn new(io: T, connection: Connection) -> Self {
        Self { io: Rc::new(RefCell::new(io)), connection: Rc::new(connection) }
    }

    pub(crate) fn connection(&self) -> &Rc<Connection> {
        &self.connection
    }

    /// Calls a method of the underlying stream.
    fn io<R>(&self, call: impl FnOnce(Pin<&mut T>) -> R) -> R {
        call(Pin::new(&mut *self.io.borrow_mut()))
    }

    /// Copies as many of these bytes as the server may read to its buffer, and keeps the rest.
    fn hand_over(
        &self,
        bytes: &[u8],
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Connection { permit, .. } = &*self.connection;
        let mut state = self.connection.state();
        let count = state.admit(bytes.get(..buffer.remaining()).unwrap_or(bytes));
        match state.incoming {
            Incoming::Head(_, length) if length > MAX_HEAD => {
                permit.cut_off();
                return Poll::Ready(Err(self.refuse(HEAD_TOO_LARGE, context)));
            }
            // The first part of an incomplete head.
            Incoming::Head(_, length) if length == count => permit.enter(Phase::Head),
            _ => {}
        }
        if matches!(state.incoming, Incoming::Head(_, length) if length > LARGE_HEAD) && state.buffered == 0 {
            self.connection.add_buffered(&mut state, MAX_HEAD)?;
        }
        buffer.put_slice(bytes.get(..count).unwrap_or_default());
        state.ahead.extend_from_slice(bytes.get(count..).unwrap_or_default());
        // With none to read, the task is woken once the server may read on.
        if count == 0 { Poll::Pending } else { Poll::Ready(Ok(())) }
    }

    /// Writes a response without a parsed request, best effort. Returns the error that closes the connection.
    fn refuse(&self, response: &[u8], context: &mut Context<'_>) -> io::Error {
        let _ = self.io(|io| io.poll_write(context, response));
        let _ = self.io(|io| io.poll_flush(context));
        ErrorKind::TimedOut.into()
    }

    /// Ends a connection that has timed out or was evicted.
    fn end(&self, context: &mut Context<'_>) -> io::Result<()> {
        match self.connection.permit.phase() {
            // The server sees the end of the stream.
            Phase::Idle => Ok(()),
            Phase::New | Phase::Head => Err(self.refuse(REQUEST_TIMEOUT, context)),
            Phase::Busy | Phase::Blocked => Err(ErrorKind::TimedOut.into()),
        }
    }

    /// Shuts down writing, and reads until the client closes too. Closing a socket with unread data resets the
    /// connection, which can destroy the last response.
    pub(super) async fn linger(self) {
        let Connection { permit, drain, .. } = &*self.connection;
        let is_idle = !self.connection.state().is_last;
        if permit.has_ended() || (is_idle && drain.has_reached(Stage::ClosingIdle)) {
            return;
        }
        let _ = poll_fn(|context| self.io(|io| io.poll_shutdown(context))).await;
        poll_fn(|context| {
            let mut space = [const { MaybeUninit::uninit() }; BODY_READ];
            loop {
                let mut read = ReadBuf::uninit(&mut space);
                match self.io(|io| io.poll_read(context, &mut read)) {
                    Poll::Ready(Ok(())) if !read.filled().is_empty() => {}
                    Poll::Pending if !permit.has_ended() => return Poll::Pending,
                    Poll::Ready(_) | Poll::Pending => return Poll::Ready(()),
                }
            }
        })
        .await;
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for GuardedStream<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let connection = &*self.connection;
        if connection.permit.has_ended() {
            return Poll::Ready(self.end(context));
        }
        let mut space = [const { MaybeUninit::uninit() }; BODY_READ];
        loop {
            let mut state = connection.state();
            let most = match state.incoming {
                Incoming::Closed => return Poll::Ready(Ok(())),
                Incoming::Length(_) | Incoming::Chunked(_) => BODY_READ,
                Incoming::Head(..) | Incoming::Nothing => HEAD_READ,
            };
            let (is_stream, ahead) = (state.is_stream, mem::take(&mut state.ahead));
            drop(state);
            if !ahead.is_empty() {
                return self.hand_over(&ahead, context, buffer);
            }
            let room = space.get_mut(..most.min(buffer.remaining())).unwrap_or_default();
            let mut read = ReadBuf::uninit(room);
            if self.io(|io| io.poll_read(context, &mut read))?.is_pending() {
                // Checked only if there is nothing to read, so that no request is dropped.
                return if connection.is_closing_idle() { Poll::Ready(Ok(())) } else { Poll::Pending };
            }
            match (read.filled(), is_stream) {
                ([], false) => return Poll::Ready(Ok(())),
                // A client that closes its side during a stream has disconnected.
                ([], true) => return Poll::Ready(Err(ErrorKind::ConnectionReset.into())),
                (bytes, false) => return self.hand_over(bytes, context, buffer),
                (_, true) => {}
            }
        }
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for GuardedStream<T> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Connection { permit, .. } = &*self.connection;
        let polled = self.io(|io| io.poll_write(context, bytes));
        if polled.is_ready() {
            self.connection.remove_buffered();
            return polled;
        }
        if permit.phase() != Phase::Blocked {
            permit.enter(Phase::Blocked);
            self.connection.add_buffered(&mut self.connection.state(), bytes.len())?;
        }
        if permit.has_ended() { Poll::Ready(Err(ErrorKind::TimedOut.into())) } else { polled }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.io(|io| io.poll_flush(context)))?;
        self.connection.written(context);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io(|io| io.poll_shutdown(context))
    }
}
