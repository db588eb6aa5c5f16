//! The JSON envelope of all responses.

use crate::error::{ApiError, Problem};
use actix_web::{
    HttpResponse,
    http::header::{self, HeaderValue},
    web::Bytes,
};
use companion_domain::{
    model::FieldError,
    request::{Part, note},
};
use serde::Serialize;
use std::time::Instant;
use utoipa::ToSchema;

/// Form of every response with a body.
#[derive(Serialize)]
pub(crate) struct Envelope<'a, T> {
    pub(crate) code: u16,
    pub(crate) message: &'a str,
    pub(crate) data: T,
}

/// The `data` of an error.
#[derive(Serialize)]
pub(crate) struct ErrorData<'a> {
    pub(crate) error: &'a str,
    pub(crate) request_id: &'a str,
    /// The errors of invalid input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fields: Option<Vec<FieldProblem<'a>>>,
}

/// A error in one field.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FieldProblem<'a> {
    /// Path of the field: `roles.MOD[2]`, or `line 7: members` in a sync.
    #[schema(examples("roles.MOD[2]"))]
    path: &'a str,
    /// What the field must be.
    #[schema(examples("must be text"))]
    message: &'a str,
}

/// Media type of envelopes.
pub(crate) const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/json");

/// Status code of success.
pub(crate) const SUCCESS: u16 = 200;

/// Returns a success response.
pub fn answer<T: Serialize>(
    message: &str,
    data: T,
    cache_control: &'static str,
) -> Result<HttpResponse, ApiError> {
    Ok(answer_with(success(message, data)?, cache_control))
}

/// Returns a success response with a rendered body.
pub(crate) fn answer_with(body: Bytes, cache_control: &'static str) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    response.append_header((header::CONTENT_TYPE, MEDIA_TYPE));
    response.append_header((header::CACHE_CONTROL, HeaderValue::from_static(cache_control)));
    response.body(body)
}

/// Renders the body of a success.
pub(crate) fn success<T: Serialize>(message: &str, data: T) -> Result<Bytes, serde_json::Error> {
    let began = Instant::now();
    let body = serde_json::to_vec(&Envelope { code: SUCCESS, message, data }).map(Bytes::from);
    note(Part::Rendering, began.elapsed());
    body
}

/// Renders the body of an error.
pub(crate) fn failure(error: &ApiError, problem: &Problem, request_id: &str) -> Bytes {
    let fields = error.errors().map(|errors| {
        errors.iter().map(|FieldError { path, message, .. }| FieldProblem { path, message }).collect()
    });
    let data = ErrorData { error: problem.word, request_id, fields };
    let envelope = Envelope { code: problem.status.as_u16(), message: &error.to_string(), data };
    // Numbers and strings always serialise.
    serde_json::to_vec(&envelope).unwrap_or_default().into()
}
