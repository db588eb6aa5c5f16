//! A stream that ends by itself when its client makes us wait.

use super::{
    admission::{Admitted, Blocked},
    connection::{Connection, LOOKS, TooLong},
    drain::{Drain, Stage},
};
use futures_util::future::LocalBoxFuture;
use std::{
    future::Future as _,
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

/// What someone gets to read whose head is too long. No envelope can be made for a request that was never read.
const TOO_LONG: &[u8] =
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

type Awaited = (Stage, LocalBoxFuture<'static, ()>);

fn awaited(drain: &Drain, stage: Stage) -> Awaited {
    (stage, Box::pin(drain.clone().reached(stage)))
}

/// A stream under watch.
pub(crate) struct GuardedStream<T> {
    inner: T,
    connection: Rc<Connection>,
    admitted: Admitted,
    interval: Duration,
    next_look: Pin<Box<Sleep>>,
    /// The stage of the drain that comes next.
    awaited: Option<Awaited>,
    /// What was read and could not be handed over yet: requests that came long before their answers.
    unread: Vec<u8>,
    /// As long as the client does not read.
    blocked: Option<Blocked>,
}

impl<T> GuardedStream<T> {
    /// A stream whose client may make us wait for about so long.
    pub(crate) fn new(inner: T, admitted: Admitted, patience: Duration, drain: &Drain) -> Self {
        let interval = patience / LOOKS;
        Self {
            inner,
            connection: Rc::new(Connection::new(drain, admitted.ahead())),
            admitted,
            interval,
            next_look: Box::pin(sleep(interval)),
            awaited: Some(awaited(drain, Stage::Leaving)),
            unread: Vec::new(),
            blocked: None,
        }
    }

    pub(crate) fn connection(&self) -> &Rc<Connection> {
        &self.connection
    }

    /// To be asked whenever there is nothing to do but to wait: it wakes whoever waits for the next look.
    fn look(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while self.next_look.as_mut().poll(context).is_ready() {
            if self.connection.look(self.admitted.is_crowded()) {
                return Err(self.cut_off("the client made us wait for too long"));
            }
            self.next_look.as_mut().reset(Instant::now() + self.interval);
        }
        Ok(())
    }

    /// Whether the listener comes to its end and nothing is asked here. To be asked when there is nothing left to read, so that
    /// no request is overlooked.
    fn leaves(&mut self, context: &mut Context<'_>) -> bool {
        while let Some((stage, reached)) = &mut self.awaited
            && reached.as_mut().poll(context).is_ready()
        {
            self.awaited = (*stage == Stage::Leaving).then(|| awaited(&self.connection.drain, Stage::Over));
        }
        self.connection.leaves()
    }

    /// Hands over more of what was read before. Returns how much.
    fn read_on(&mut self, context: &Context<'_>, buffer: &mut ReadBuf<'_>) -> Result<usize, TooLong> {
        let bytes = self.unread.get(..buffer.remaining()).unwrap_or(&self.unread);
        let room = self.connection.hand_over(bytes, context)?;
        buffer.put_slice(bytes.get(..room).unwrap_or_default());
        self.unread.drain(..room);
        if self.unread.is_empty() {
            // Nobody knows whether there will ever be any again.
            self.unread = Vec::new();
        }
        Ok(room)
    }

    /// Hands over what has just been read, and keeps what there is no room for. Returns how much was handed over.
    fn read_first(
        &mut self,
        context: &Context<'_>,
        buffer: &mut ReadBuf<'_>,
        before: usize,
    ) -> Result<usize, TooLong> {
        let bytes = buffer.filled().get(before..).unwrap_or_default();
        let room = self.connection.hand_over(bytes, context)?;
        self.unread.extend_from_slice(bytes.get(room..).unwrap_or_default());
        buffer.set_filled(before + room);
        Ok(room)
    }

    /// Whether or not it can be written, that is the end.
    fn refuse_head(&mut self, context: &mut Context<'_>) -> io::Error
    where
        T: AsyncWrite + Unpin,
    {
        let _ = Pin::new(&mut self.inner).poll_write(context, TOO_LONG);
        self.cut_off("a head is too long")
    }

    fn cut_off(&self, why: &'static str) -> io::Error {
        self.admitted.cut_off();
        io::Error::new(io::ErrorKind::TimedOut, why)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for GuardedStream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let handed_over = if self.unread.is_empty() {
            let before = buffer.filled().len();
            match Pin::new(&mut self.inner).poll_read(context, buffer)? {
                Poll::Ready(()) if buffer.filled().len() == before => return Poll::Ready(Ok(())),
                Poll::Ready(()) => self.read_first(context, buffer, before),
                Poll::Pending if self.leaves(context) => return Poll::Ready(Ok(())),
                Poll::Pending => Ok(0),
            }
        } else {
            self.read_on(context, buffer)
        };
        match handed_over {
            Err(TooLong) => Poll::Ready(Err(self.refuse_head(context))),
            Ok(0) => {
                self.look(context)?;
                Poll::Pending
            }
            Ok(_) => Poll::Ready(Ok(())),
        }
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for GuardedStream<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.inner).poll_write(context, bytes) {
            Poll::Ready(written) => {
                self.connection.wrote();
                self.blocked = None;
                Poll::Ready(written)
            }
            Poll::Pending => {
                if self.connection.block() {
                    self.blocked = self.admitted.block();
                }
                if self.blocked.is_none() {
                    return Poll::Ready(Err(self.cut_off("too many clients do not read their answers")));
                }
                self.look(context)?;
                Poll::Pending
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
