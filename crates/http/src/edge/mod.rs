//! What every answer gets, whoever made it: the envelope of errors, the request id, CORS, and no body for HEAD.
//!
//! It stands around everything else, so that unknown paths, refused methods, failed handlers and panics all leave in
//! the same form.

mod answering;
mod cors;
mod error_pages;
mod exchange;
mod head;
mod ready;
mod settings;
mod slow;
mod unread;

pub(crate) use self::{
    cors::Caller,
    ready::{ReadyAnswer, ReadyAnswers},
    settings::EdgeSettings,
};
pub use self::{error_pages::ErrorPages, settings::Edge};

use self::{answering::Answering, exchange::Exchange, unread::WatchedBody};
use actix_web::{
    Error,
    body::BoxBody,
    dev::{Service, ServiceRequest, ServiceResponse, Transform, forward_ready},
};
use std::{
    future::{Ready, ready},
    rc::Rc,
};

impl<S> Transform<S, ServiceRequest> for Edge
where
    S: Service<ServiceRequest, Response = ServiceResponse<BoxBody>, Error = Error> + 'static,
{
    type Response = ServiceResponse<BoxBody>;
    type Error = Error;
    type Transform = EdgeService<S>;
    type InitError = ();
    type Future = Ready<Result<Self::Transform, ()>>;

    fn new_transform(&self, inner: S) -> Self::Future {
        ready(Ok(EdgeService { inner, edge: Rc::new(self.clone()) }))
    }
}

/// The outermost layer around one worker's services.
pub struct EdgeService<S> {
    inner: S,
    /// Counted by each worker for itself: requests of several workers do not contend for one count.
    edge: Rc<Edge>,
}

impl<S> Service<ServiceRequest> for EdgeService<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<BoxBody>, Error = Error> + 'static,
{
    type Response = ServiceResponse<BoxBody>;
    type Error = Error;
    type Future = Answering<S::Future>;

    forward_ready!(inner);

    fn call(&self, mut request: ServiceRequest) -> Self::Future {
        let Edge { settings, ready, error_pages } = &*self.edge;
        let exchange = Exchange::begin(&request, settings, error_pages.as_ref());
        let Some(body) = WatchedBody::of(&mut request) else {
            return match ready.as_ref().and_then(|ready| exchange.ready(&**ready, request.request())) {
                Some(ReadyAnswer { path, response }) => {
                    let (request, _) = request.into_parts();
                    Answering::at_once(
                        exchange.concluded(request, Some(path), response, settings),
                        &self.edge,
                    )
                }
                None => self.route(exchange, request, None),
            };
        };
        self.route(exchange, request, Some(body))
    }
}

impl<S> EdgeService<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<BoxBody>, Error = Error>,
{
    /// Leaves a request to the application.
    fn route(
        &self,
        exchange: Exchange,
        request: ServiceRequest,
        body: Option<WatchedBody>,
    ) -> Answering<S::Future> {
        exchange.receipt.attach(request.request());
        Answering::begin(exchange, body, &self.edge, || self.inner.call(request))
    }
}
