//! What every answer gets, whoever made it: the envelope of errors, the request id, CORS, and no body for HEAD.
//!
//! It stands around everything else, so that unknown paths, refused methods, failed handlers and panics all leave in
//! the same form.

mod cors;
mod exchange;
mod head;
mod settings;
mod unread;

pub(crate) use self::{cors::Caller, settings::EdgeSettings};

use self::{
    exchange::{Exchange, Lost},
    unread::WatchedBody,
};
use crate::{error::ApiError, routing::Routed};
use actix_web::{
    Error, HttpRequest, HttpResponse,
    body::BoxBody,
    dev::{Service, ServiceRequest, ServiceResponse, Transform, forward_ready},
};
use futures_util::{FutureExt as _, future::LocalBoxFuture};
use std::{
    any::Any,
    future::{Ready, ready},
    panic::AssertUnwindSafe,
    rc::Rc,
    sync::Arc,
    time::Duration,
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
        ready(Ok(EdgeService { inner: Rc::new(inner), settings: Arc::clone(&self.0) }))
    }
}

/// The outermost layer around one worker's services.
pub struct EdgeService<S> {
    inner: Rc<S>,
    settings: Arc<EdgeSettings>,
}

impl<S> Service<ServiceRequest> for EdgeService<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<BoxBody>, Error = Error> + 'static,
{
    type Response = ServiceResponse<BoxBody>;
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self::Response, Error>>;

    forward_ready!(inner);

    fn call(&self, mut request: ServiceRequest) -> Self::Future {
        let exchange = Exchange::begin(&request, &self.settings);
        exchange.receipt.attach(request.request());
        let body = WatchedBody::of(&mut request);
        let inner = Rc::clone(&self.inner);
        let settings = Arc::clone(&self.settings);
        async move {
            // A handler that panics leaves nothing behind that another request could see: state is shared through
            // ports only, and these are atomic.
            let answer = AssertUnwindSafe(async move { inner.call(request).await }).catch_unwind().await;
            let answer = match answer {
                Ok(Ok(answer)) => Ok(concluded(answer, &exchange, &settings)),
                Ok(Err(error)) => Err(lost(error.to_string(), exchange, &settings)),
                Err(panic) => Err(lost(panic_message(&*panic), exchange, &settings)),
            };
            let unread = match body {
                Some(body) => body.rest(settings.body_limit).await,
                None => None,
            };
            match (answer, unread) {
                (Ok(answer), None) => Ok(answer),
                (Ok(answer), Some(unread)) => {
                    let (request, response) = answer.into_parts();
                    Ok(ServiceResponse::new(request, unread.ends_with(response)))
                }
                (Err(lost), unread) => Err(Lost { unread, ..lost }.into()),
            }
        }
        .boxed_local()
    }
}

/// Gives an answer what every answer has, and takes note of it.
fn concluded(
    answer: ServiceResponse<BoxBody>,
    exchange: &Exchange,
    settings: &EdgeSettings,
) -> ServiceResponse<BoxBody> {
    let (request, response) = answer.into_parts();
    let response = exchange.finish(rendered(response, exchange, settings));
    let path = request.app_data::<Routed>().map(|routed| routed.0);
    let taken = exchange.receipt.taken(&*settings.clock);
    settings.metrics.answered(path, response.status(), taken);
    if settings.access_log {
        log_access(&request, &response, exchange, taken);
    }
    ServiceResponse::new(request, response)
}

/// An answer that is an error in disguise becomes what the caller gets to see of it.
fn rendered(
    response: HttpResponse<BoxBody>,
    exchange: &Exchange,
    settings: &EdgeSettings,
) -> HttpResponse<BoxBody> {
    let Some(error) = response.error() else {
        return response;
    };
    let failed = |error: &ApiError| {
        error.log(exchange.receipt.id.as_str(), &settings.failures);
        exchange.failed(error)
    };
    match error.as_error::<ApiError>() {
        Some(error) => failed(error),
        None => failed(&ApiError::Internal(error.to_string().into())),
    }
}

fn lost(cause: String, exchange: Exchange, settings: &EdgeSettings) -> Lost {
    let error = ApiError::Internal(cause.into());
    error.log(exchange.receipt.id.as_str(), &settings.failures);
    settings.metrics.answered(None, error.problem().status, exchange.receipt.taken(&*settings.clock));
    Lost { exchange, error, unread: None }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<&str>().copied();
    let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panic: {}", message.unwrap_or("no message"))
}

fn log_access(request: &HttpRequest, response: &HttpResponse<BoxBody>, exchange: &Exchange, taken: Duration) {
    tracing::info!(
        target: "companion::access",
        request_id = exchange.receipt.id.as_str(),
        method = request.method().as_str(),
        path = request.path(),
        code = response.status().as_u16(),
        milliseconds = taken.as_secs_f64() * 1000.0,
        "answered"
    );
}
