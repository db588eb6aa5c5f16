//! Tells a connection which of its requests are being answered.

use super::connection::{CHUNKED, Connection};
use actix_http::{
    ConnectionType, HttpMessage as _, Request,
    header::{CONTENT_LENGTH, TRANSFER_ENCODING},
};
use actix_service::{Service, ServiceFactory, forward_ready};
use actix_web::{HttpResponse, body::BoxBody, dev::ServiceResponse};
use futures_util::future::{FutureExt as _, LocalBoxFuture, TryFutureExt as _};
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

/// An application whose connections know what it is doing, and which of their answers is the last.
pub(crate) struct Watched<S> {
    pub(crate) app: S,
}

impl<S> ServiceFactory<Request> for Watched<S>
where
    S: ServiceFactory<Request, Response = ServiceResponse<BoxBody>, Error = HttpResponse<BoxBody>>,
    S::Future: 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Config = S::Config;
    type Service = Watched<S::Service>;
    type InitError = S::InitError;
    type Future = LocalBoxFuture<'static, Result<Self::Service, S::InitError>>;

    fn new_service(&self, config: S::Config) -> Self::Future {
        self.app.new_service(config).map_ok(|app| Watched { app }).boxed_local()
    }
}

impl<S> Service<Request> for Watched<S>
where
    S: Service<Request, Response = ServiceResponse<BoxBody>, Error = HttpResponse<BoxBody>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Answer<S::Future>;

    forward_ready!(app);

    fn call(&self, request: Request) -> Self::Future {
        let connection = request.conn_data::<Rc<Connection>>().cloned();
        let answering = connection.map(|connection| Answering::begin(connection, announced(&request)));
        Answer { future: self.app.call(request), answering }
    }
}

pin_project! {
    /// An answer in the making.
    pub(crate) struct Answer<F> {
        #[pin]
        future: F,
        answering: Option<Answering>,
    }
}

impl<F> Future for Answer<F>
where
    F: Future<Output = Result<ServiceResponse<BoxBody>, HttpResponse<BoxBody>>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let mut answer = ready!(this.future.poll(context));
        if this.answering.as_ref().is_some_and(|answering| answering.0.closes()) {
            let response = match &mut answer {
                Ok(answer) => answer.response_mut(),
                Err(response) => response,
            };
            response.head_mut().set_connection_type(ConnectionType::Close);
        }
        Poll::Ready(answer)
    }
}

/// A request that is being answered, or was given up, when this is dropped.
struct Answering(Rc<Connection>);

impl Answering {
    fn begin(connection: Rc<Connection>, body: u64) -> Self {
        connection.begins(body);
        Self(connection)
    }
}

/// How long the body is, as far as its head says.
fn announced(request: &Request) -> u64 {
    if request.headers().contains_key(TRANSFER_ENCODING) {
        return CHUNKED;
    }
    let length = request.headers().get(CONTENT_LENGTH);
    length.and_then(|length| length.to_str().ok()).and_then(|length| length.parse().ok()).unwrap_or_default()
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.ends();
    }
}
