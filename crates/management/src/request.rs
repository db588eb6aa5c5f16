//! Parsing of management requests.

use crate::context::ManagementContext;
use actix_web::{FromRequest, HttpRequest, dev::Payload, web};
use companion_domain::model::{FieldError, Invalid};
use companion_http::{
    ApiError,
    body::{UnusedBody, read_json},
    routing,
};
use companion_records::{FieldErrors, Record, read_body};
use futures_util::{FutureExt as _, future::LocalBoxFuture};
use serde_json::Value;
use std::str::FromStr;

/// A JSON body, whatever its `Content-Type`, or the error of parsing it.
pub(crate) struct JsonBody(Result<Value, serde_json::Error>);

impl FromRequest for JsonBody {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (limit, request, payload) = (body_limit(request), request.clone(), payload.take());
        async move { read_json(request.headers(), payload, limit).await.map(Self) }.boxed_local()
    }
}

/// An unused body: read up to the limit and discarded.
pub(crate) struct EmptyBody;

impl FromRequest for EmptyBody {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let limit = body_limit(request);
        let unused = UnusedBody::of(request, payload);
        async move { unused.ignore(limit).await.map(|()| Self) }.boxed_local()
    }
}

/// Size in bytes of the largest document that a path accepts. Set for a path where it can exceed the configured limit:
/// input that the OpenAPI document allows must not be refused for its size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MinBodyLimit(pub(crate) usize);

fn body_limit(request: &HttpRequest) -> usize {
    let usual = request.app_data::<web::Data<ManagementContext>>().map_or(0, |context| context.body_limit);
    request.app_data::<MinBodyLimit>().map_or(usual, |minimum| usual.max(minimum.0))
}

impl JsonBody {
    /// Parses the record in this body, with the key from the path.
    pub(crate) fn record<R: Record>(&self, request: &HttpRequest) -> Result<R::Value, ApiError> {
        read_body::<R>(&|name| routing::parameter(request, name), &self.0).map_err(ApiError::InputInvalid)
    }

    /// Returns the document, or why there is none.
    pub(crate) const fn document(&self) -> &Result<Value, serde_json::Error> {
        &self.0
    }
}

/// Parses the key of a record from the path.
pub(crate) fn key<R: Record>(request: &HttpRequest) -> Result<R::Key, ApiError> {
    let mut errors = FieldErrors::default();
    let key = R::key(&|name| routing::parameter(request, name), &mut errors);
    errors.unless_any(key).map_err(ApiError::InputInvalid)
}

/// Parses a path segment.
pub(crate) fn segment<T: FromStr<Err = Invalid>>(
    request: &HttpRequest,
    name: &'static str,
) -> Result<T, ApiError> {
    value(name, routing::parameter(request, name))
}

/// Parses a value from the path or query.
pub(crate) fn value<T: FromStr<Err = Invalid>>(name: &str, text: &str) -> Result<T, ApiError> {
    text.parse().map_err(|invalid: Invalid| invalid_value(name, &format!("must be {}", invalid.expected)))
}

/// Returns the error for an invalid value in the path or query.
pub(crate) fn invalid_value(name: &str, message: &str) -> ApiError {
    ApiError::InputInvalid(vec![FieldError::new(name, message)])
}
