//! Routes with exact methods.

use crate::error::ApiError;
use actix_web::{
    FromRequest, Handler, HttpResponse, Resource, Responder,
    http::{Method, header},
    web,
};

/// The matched route pattern.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Routed(pub(crate) &'static str);

/// Methods of paths that are only read.
pub(crate) const READING: &str = "GET, HEAD, OPTIONS";

/// Returns a resource that answers OPTIONS, and other methods with 405. `allow` lists its methods, including those the
/// caller adds.
pub fn resource(path: &'static str, allow: &'static str) -> Resource {
    web::resource(path)
        .app_data(Routed(path))
        .route(web::method(Method::OPTIONS).to(move || async move {
            HttpResponse::NoContent().insert_header((header::ALLOW, allow)).finish()
        }))
        .default_service(web::to(move || async move { refuse_method(allow) }))
}

/// Returns a resource for GET and HEAD. Both run the same handler; the edge removes the body of HEAD.
pub fn reading<F, Args>(path: &'static str, handler: F) -> Resource
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    resource(path, READING).route(web::get().to(handler.clone())).route(web::head().to(handler))
}

/// Responds to unknown paths.
pub(crate) async fn not_found() -> Result<HttpResponse, ApiError> {
    Err(ApiError::NotFound)
}

fn refuse_method(allow: &'static str) -> Result<HttpResponse, ApiError> {
    Err(ApiError::MethodNotAllowed(allow))
}
