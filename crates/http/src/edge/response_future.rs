//! The future of a request in the edge. It is a named type because boxing one per request would cost more than the
//! edge's own work.

use super::{Edge, exchange::Exchange, unread::TrackedBody};
use crate::guard::Stage as Drained;
use actix_web::{Error, body::BoxBody, dev::ServiceResponse};
use futures_util::future::LocalBoxFuture;
use pin_project_lite::pin_project;
use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

type Answer = Result<ServiceResponse<BoxBody>, Error>;

pin_project! {
    /// A request being answered.
    pub struct ResponseFuture<F> {
        #[pin]
        stage: Stage<F>,
        // Not an `Arc`: workers would contend for its reference count.
        edge: Rc<Edge>,
        // Allocated on the first `Pending`, which most requests never reach.
        overdue: Option<LocalBoxFuture<'static, ()>>,
    }
}

pin_project! {
    #[project = StageProjection]
    enum Stage<F> {
        // The application is handling the request.
        Routed { #[pin] future: F, exchange: Exchange, body: Option<TrackedBody> },
        // The response is complete; the rest of the request body is being read.
        Reading { answer: Option<Answer>, rest: LocalBoxFuture<'static, ()> },
        // The response is ready.
        Answered { answer: Option<Answer> },
    }
}

impl<F> ResponseFuture<F> {
    /// Returns a response that is already complete.
    pub(super) fn ready(answer: ServiceResponse<BoxBody>, edge: &Rc<Edge>) -> Self {
        Self { stage: Stage::Answered { answer: Some(Ok(answer)) }, edge: Rc::clone(edge), overdue: None }
    }

    /// Calls the application. A panic becomes an error response.
    pub(super) fn begin(
        exchange: Exchange,
        body: Option<TrackedBody>,
        edge: &Rc<Edge>,
        call: impl FnOnce() -> F,
    ) -> Self {
        let exchange = exchange.with_context();
        let stage = match catch_panic(|| exchange.within(call)) {
            Ok(future) => Stage::Routed { future, exchange, body },
            Err(panic) => Stage::after(Err(exchange.panicked(&*panic, edge)), body, edge),
        };
        Self { stage, edge: Rc::clone(edge), overdue: None }
    }
}

impl<F> Stage<F> {
    fn after(answer: Answer, body: Option<TrackedBody>, edge: &Edge) -> Self {
        match body {
            None => Self::Answered { answer: Some(answer) },
            Some(body) => Self::Reading {
                answer: Some(answer),
                rest: Box::pin(body.rest(edge.state.settings.body_limit)),
            },
        }
    }
}

impl<F> Future for ResponseFuture<F>
where
    F: Future<Output = Result<ServiceResponse<BoxBody>, Error>>,
{
    type Output = Result<ServiceResponse<BoxBody>, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.stage.as_mut().project() {
                StageProjection::Routed { future, exchange, body } => {
                    match catch_panic(|| exchange.within(|| future.poll(context))) {
                        Ok(Poll::Pending) if is_overdue(this.overdue, this.edge, context) => {
                            // Nor is the rest of the body awaited.
                            Stage::Answered { answer: Some(Err(exchange.overdue(this.edge))) }
                        }
                        Ok(Poll::Pending) => return Poll::Pending,
                        Ok(Poll::Ready(answered)) => {
                            let answer = match answered {
                                Ok(answer) => Ok(exchange.routed(answer, this.edge)),
                                Err(error) => Err(exchange.failed_with(error.to_string(), this.edge)),
                            };
                            Stage::after(answer, body.take(), this.edge)
                        }
                        Err(panic) => {
                            Stage::after(Err(exchange.panicked(&*panic, this.edge)), body.take(), this.edge)
                        }
                    }
                }
                StageProjection::Reading { answer, rest } => {
                    ready!(rest.as_mut().poll(context));
                    Stage::Answered { answer: answer.take() }
                }
                StageProjection::Answered { answer } => {
                    let Some(answer) = answer.take() else { return Poll::Pending };
                    return Poll::Ready(answer);
                }
            };
            this.stage.set(next);
        }
    }
}

/// Whether the listener has reached the drain deadline.
fn is_overdue(
    overdue: &mut Option<LocalBoxFuture<'static, ()>>,
    edge: &Edge,
    context: &mut Context<'_>,
) -> bool {
    let wait =
        || Box::pin(edge.state.drain.clone().reached(Drained::Cancelling)) as LocalBoxFuture<'static, ()>;
    overdue.get_or_insert_with(wait).as_mut().poll(context).is_ready()
}

/// Catches a panic in a part of a handler. Other requests see no broken state: it is shared through ports only, and
/// their operations are atomic.
fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(work))
}
