//! Bodies that a handler left unread. A small one is read and thrown away, so that the connection can go on. For a larger one
//! the connection ends with the answer: the server would go on reading, without end where the body has none. What follows a
//! request for another protocol is no body at all, and no handler sees it.

use crate::body::announced;
use actix_web::{
    HttpMessage as _, HttpResponse,
    body::{BodySize, BoxBody, MessageBody},
    dev::{Payload, ServiceRequest},
    error::PayloadError,
    http::{
        Method,
        header::{CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING, UPGRADE},
    },
    web::Bytes,
};
use futures_util::{Stream, StreamExt as _};
use std::{
    cell::RefCell,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::timeout;

/// How long an answer waits for the rest of a small body.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The body of a request. Handlers read a clone of it, so that it stays known how much they read.
#[derive(Clone)]
pub(super) struct WatchedBody(Rc<RefCell<State>>);

struct State {
    payload: Payload,
    announced: Option<u64>,
    read: u64,
    ended: bool,
}

impl WatchedBody {
    /// Puts itself between a request and its body; nothing where there is none.
    pub(super) fn of(request: &mut ServiceRequest) -> Option<Self> {
        let payload = request.take_payload();
        if let Payload::None = payload {
            return None;
        }
        let upgrade = is_upgrade(request);
        let announced = if upgrade { Some(u64::MAX) } else { announced(request.headers()) };
        let body = Self(Rc::new(RefCell::new(State { payload, announced, read: 0, ended: false })));
        if !upgrade {
            request.set_payload(Payload::Stream { payload: Box::pin(body.clone()) });
        }
        Some(body)
    }

    /// Reads what is left, unless the body is larger than `limit` or takes too long. Returns what then stays unread.
    pub(super) async fn rest(mut self, limit: usize) -> Option<Unread> {
        let reading = async { while self.is_within(limit) && self.next().await.is_some() {} };
        // What does not come in time stays unread.
        let _ = timeout(MAX_WAIT, reading).await;
        let ended = self.0.borrow().ended;
        (!ended).then(|| Unread::of(self))
    }

    fn is_within(&self, limit: usize) -> bool {
        let State { announced, read, .. } = *self.0.borrow();
        announced.unwrap_or(read).max(read) <= limit as u64
    }
}

impl Stream for WatchedBody {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = self.0.borrow_mut();
        if state.ended {
            return Poll::Ready(None);
        }
        let polled = Pin::new(&mut state.payload).poll_next(context);
        match &polled {
            Poll::Ready(Some(Ok(bytes))) => state.read += bytes.len() as u64,
            Poll::Ready(None | Some(Err(_))) => state.ended = true,
            Poll::Pending => {}
        }
        polled
    }
}

/// Whether the server takes everything that comes after the head for another protocol's.
fn is_upgrade(request: &ServiceRequest) -> bool {
    let headers = request.headers();
    let websocket = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"websocket");
    let tunnel = request.method() == Method::CONNECT && !headers.contains_key(CONTENT_LENGTH);
    !headers.contains_key(TRANSFER_ENCODING) && (tunnel || headers.get_all(UPGRADE).any(websocket))
}

/// A body that will not be read.
#[derive(Clone)]
pub(super) struct Unread {
    _body: WatchedBody,
}

impl Unread {
    /// What is left of this body.
    pub(super) fn of(body: WatchedBody) -> Self {
        Self { _body: body }
    }

    /// Lets the connection end with this answer. The server closes it where a body that could still be read is left over
    /// when the answer is out; one that was dropped it would go on reading. So the body is held as long as the answer.
    pub(super) fn ends_with(self, answer: HttpResponse<BoxBody>) -> HttpResponse<BoxBody> {
        answer.map_body(|_, body| BoxBody::new(HoldingBody { body, _unread: self }))
    }
}

/// The body of an answer, and that of its request.
struct HoldingBody {
    body: BoxBody,
    _unread: Unread,
}

impl MessageBody for HoldingBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}
