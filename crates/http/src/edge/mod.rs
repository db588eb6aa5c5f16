//! What every answer gets, whoever made it: the envelope of errors, the request id, CORS, and no body for HEAD.
//!
//! It stands around everything else, so that unknown paths, refused methods, failed handlers and panics all leave in
//! the same form.

mod answering;
mod cors;
mod exchange;
mod head;
mod settings;
mod unread;

pub(crate) use self::{cors::Caller, settings::EdgeSettings};

use self::{answering::Answering, exchange::Exchange, unread::WatchedBody};
use actix_web::{
    Error,
    body::BoxBody,
    dev::{Service, ServiceRequest, ServiceResponse, Transform, forward_ready},
};
use std::{
    future::{Ready, ready},
    rc::Rc,
    sync::Arc,
};

/// The outermost layer of an application.
#[derive(Clone)]
pub struct Edge(pub(crate) Arc<EdgeSettings>);

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
        ready(Ok(EdgeService { inner, settings: Rc::new(Arc::clone(&self.0)) }))
    }
}

/// The outermost layer around one worker's services.
pub struct EdgeService<S> {
    inner: S,
    settings: Rc<Arc<EdgeSettings>>,
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
        let exchange = Exchange::begin(&request, &self.settings);
        let body = WatchedBody::of(&mut request);
        exchange.receipt.attach(request.request());
        Answering::begin(exchange, body, &self.settings, || self.inner.call(request))
    }
}
