//! Tells a connection which of its requests are being answered.

use super::connection::Connection;
use actix_http::Request;
use actix_service::{Service, ServiceFactory, forward_ready};
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

/// An application whose connections know what it is doing.
pub(crate) struct Watched<S> {
    pub(crate) app: S,
}

impl<S> ServiceFactory<Request> for Watched<S>
where
    S: ServiceFactory<Request>,
    S::Future: 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Config = S::Config;
    type Service = Watched<S::Service>;
    type InitError = S::InitError;
    type Future = LocalBoxFuture<'static, Result<Self::Service, S::InitError>>;

    fn new_service(&self, config: S::Config) -> Self::Future {
        self.app.new_service(config).map(|app| app.map(|app| Watched { app })).boxed_local()
    }
}

impl<S: Service<Request>> Service<Request> for Watched<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = Answer<S::Future>;

    forward_ready!(app);

    fn call(&self, request: Request) -> Self::Future {
        let answering = request.conn_data::<Rc<Connection>>().cloned().map(Answering::begin);
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

impl<F: Future> Future for Answer<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.project().future.poll(context)
    }
}

/// A request that is being answered, or was given up, when this is dropped.
struct Answering(Rc<Connection>);

impl Answering {
    fn begin(connection: Rc<Connection>) -> Self {
        connection.begins();
        Self(connection)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.ends();
    }
}
