//! A stream that ends by itself when its client makes us wait.

use super::{
    admission::{Admitted, Blocked},
    connection::{Connection, LOOKS, TooLong},
    drain::{Drain, Stage},
};
use futures_util::future::LocalBoxFuture;
use std::{
    cell::RefCell,
    future::Future as _,
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

/// What someone gets to read whose head is too long. No envelope can be made for a request that was never read.
const TOO_LONG: &[u8] =
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// How much is read at once, at most.
const AT_ONCE: usize = 8192;
/// The same where requests are expected. What cannot be handed over yet has to be kept, for everyone who sends requests without
/// reading the answers; a few requests find room.
const REQUESTS_AT_ONCE: usize = 2048;

thread_local! {
    static JUST_READ: RefCell<[u8; AT_ONCE]> = const { RefCell::new([0; AT_ONCE]) };
}

type Awaited = (Stage, LocalBoxFuture<'static, ()>);

fn awaited(drain: &Drain, stage: Stage) -> Awaited {
    (stage, Box::pin(drain.clone().reached(stage)))
}

/// What came of reading.
enum Came {
    /// So many bytes, none where there is no room for them yet.
    Bytes(usize),
    TooLong,
    End,
}

impl From<Result<usize, TooLong>> for Came {
    fn from(handed_over: Result<usize, TooLong>) -> Self {
        handed_over.map_or(Self::TooLong, Self::Bytes)
    }
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

    /// Hands over more of what was read before.
    fn read_on(&mut self, context: &Context<'_>, buffer: &mut ReadBuf<'_>) -> Came {
        let handed_over = self.hand_over(&self.unread, context, buffer);
        self.unread.drain(..handed_over.unwrap_or_default());
        if self.unread.is_empty() {
            // Nobody knows whether there will ever be any again.
            self.unread = Vec::new();
        }
        handed_over.into()
    }

    /// Reads what has come and hands it over, and keeps what there is no room for.
    fn read_first(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<Came>>
    where
        T: AsyncRead + Unpin,
    {
        let most = if self.connection.is_within_body() { AT_ONCE } else { REQUESTS_AT_ONCE };
        JUST_READ.with_borrow_mut(|just_read| {
            let mut just_read = ReadBuf::new(just_read.get_mut(..most).unwrap_or_default());
            ready!(Pin::new(&mut self.inner).poll_read(context, &mut just_read))?;
            let bytes = just_read.filled();
            if bytes.is_empty() {
                return Poll::Ready(Ok(Came::End));
            }
            let handed_over = self.hand_over(bytes, context, buffer);
            if let Ok(room) = handed_over {
                self.unread.extend_from_slice(bytes.get(room..).unwrap_or_default());
            }
            Poll::Ready(Ok(handed_over.into()))
        })
    }

    /// Hands over the first of these bytes, as many as there is room for. Returns how many.
    fn hand_over(
        &self,
        bytes: &[u8],
        context: &Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Result<usize, TooLong> {
        let bytes = bytes.get(..buffer.remaining()).unwrap_or(bytes);
        let room = self.connection.hand_over(bytes, context)?;
        buffer.put_slice(bytes.get(..room).unwrap_or_default());
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
        let came = if self.unread.is_empty() {
            match self.read_first(context, buffer)? {
                Poll::Ready(came) => came,
                Poll::Pending if self.leaves(context) => Came::End,
                Poll::Pending => Came::Bytes(0),
            }
        } else {
            self.read_on(context, buffer)
        };
        match came {
            Came::Bytes(0) => {
                self.look(context)?;
                Poll::Pending
            }
            Came::Bytes(_) | Came::End => Poll::Ready(Ok(())),
            Came::TooLong => Poll::Ready(Err(self.refuse_head(context))),
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

#[cfg(test)]
mod tests {
    use super::{
        super::admission::{Admission, ConnectionLimits},
        *,
    };
    use crate::client::TrustedProxies;
    use std::task::Waker;

    #[tokio::test]
    async fn of_requests_that_come_long_before_their_answers_little_is_kept() {
        let requests = b"GET /team HTTP/1.1\r\nHost: x\r\n\r\n".repeat(4000);
        let limits = ConnectionLimits { all: 1, per_address: 1 };
        let admitted = Admission::new(TrustedProxies::new(|_| false)).admit(limits, None).unwrap();
        let client = tokio::io::join(&*requests, tokio::io::sink());
        let mut stream = GuardedStream::new(client, admitted, Duration::from_secs(1), &Drain::default());
        let (mut room, mut read) = (vec![0; 64 * 1024], 0);
        let mut context = Context::from_waker(Waker::noop());
        let mut buffer = ReadBuf::new(&mut room);
        while Pin::new(&mut stream).poll_read(&mut context, &mut buffer).is_ready() {
            assert!(buffer.filled().len() > read, "there is more to read");
            read = buffer.filled().len();
        }
        assert!(read > 0 && requests.starts_with(buffer.filled()));
        assert!(stream.unread.capacity() <= REQUESTS_AT_ONCE, "{} bytes are kept", stream.unread.capacity());
    }
}
