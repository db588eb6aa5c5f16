//! Paths and methods, answered to the letter.

use crate::error::ApiError;
use actix_web::{
    FromRequest, Handler, HttpResponse, Resource, Responder,
    http::{Method, header},
    web,
};

/// The path that a request reached, as it is written in the table of routes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Routed(pub(crate) &'static str);

/// What paths that are only read answer to.
pub(crate) const READING: &str = "GET, HEAD, OPTIONS";

/// A path that answers to the methods routed on it and to OPTIONS; `allow` names them all for those who use another.
pub fn resource(path: &'static str, allow: &'static str) -> Resource {
    web::resource(path)
        .app_data(Routed(path))
        .route(web::method(Method::OPTIONS).to(move || async move {
            HttpResponse::NoContent().insert_header((header::ALLOW, allow)).finish()
        }))
        .default_service(web::to(move || async move { refuse_method(allow) }))
}

/// A path that is only read. HEAD runs the same handler as GET; the edge takes the body off.
pub fn reading<F, Args>(path: &'static str, handler: F) -> Resource
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    resource(path, READING).route(web::get().to(handler.clone())).route(web::head().to(handler))
}

/// The answer of every path that does not exist.
pub(crate) async fn not_found() -> Result<HttpResponse, ApiError> {
    Err(ApiError::NotFound)
}

fn refuse_method(allow: &'static str) -> Result<HttpResponse, ApiError> {
    Err(ApiError::MethodNotAllowed(allow))
}
