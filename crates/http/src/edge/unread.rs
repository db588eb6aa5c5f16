//! Request bodies that a handler left unread. A small one is read and discarded, so that the connection can be reused.
//! After a larger one the guard closes the connection.

use crate::{body::announced, guard::Body};
use actix_web::{
    HttpMessage as _,
    dev::{Payload, ServiceRequest},
    error::PayloadError,
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

/// How long a response waits for the rest of a small body.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(1);

/// A request body. Handlers read a clone of it, so that the edge knows how much they have read.
#[derive(Clone)]
pub(super) struct TrackedBody(Rc<RefCell<UnreadState>>);

struct UnreadState {
    payload: Payload,
    announced: Option<u64>,
    read: u64,
    has_ended: bool,
}

impl TrackedBody {
    /// Replaces the payload of a request by a tracked one. Returns `None` if the request has no body. Bytes that follow
    /// an upgrade request are not a body, and no handler sees them.
    pub(super) fn of(request: &mut ServiceRequest) -> Option<Self> {
        let payload = request.take_payload();
        if matches!(payload, Payload::None) || Body::of(request.head()) == Body::Tunnel {
            return None;
        }
        let announced = announced(request.headers());
        let body = Self(Rc::new(RefCell::new(UnreadState { payload, announced, read: 0, has_ended: false })));
        request.set_payload(Payload::Stream { payload: Box::pin(body.clone()) });
        Some(body)
    }

    /// Reads and discards the rest, unless the body is larger than `limit` or takes too long.
    pub(super) async fn rest(mut self, limit: usize) {
        let reading = async { while self.is_within(limit) && self.next().await.is_some() {} };
        let _ = timeout(DISCARD_TIMEOUT, reading).await;
    }

    fn is_within(&self, limit: usize) -> bool {
        let UnreadState { announced, read, .. } = *self.0.borrow();
        announced.unwrap_or(read).max(read) <= limit as u64
    }
}

impl Stream for TrackedBody {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = self.0.borrow_mut();
        if state.has_ended {
            return Poll::Ready(None);
        }
        let polled = Pin::new(&mut state.payload).poll_next(context);
        match &polled {
            Poll::Ready(Some(Ok(bytes))) => state.read += bytes.len() as u64,
            Poll::Ready(None | Some(Err(_))) => state.has_ended = true,
            Poll::Pending => {}
        }
        polled
    }
}
