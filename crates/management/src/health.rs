//! `GET /health/live`, `GET /health/ready` and `GET /metrics`.

use crate::request::{Call, answer};
use actix_web::{HttpResponse, http::header};
use companion_http::{ApiError, MetricsSource as _, MetricsText, openapi::failure, wire::Nothing};
use std::time::Duration;
use tokio::time::timeout;

/// Timeout of the readiness check.
const READINESS_TIMEOUT: Duration = Duration::from_secs(2);

/// Check that the process is alive
#[utoipa::path(
    get, path = "/health/live", operation_id = "isAlive", tag = "health",
    responses((status = 200, description = "The process responds.", body = Nothing))
)]
pub(crate) async fn live(_: Call) -> Result<HttpResponse, ApiError> {
    answer("Alive.", Nothing {})
}

/// Check that the service is ready for traffic
///
/// Both listeners accept connections, storage is reachable and migrated, the public responses are loaded, and the
/// service is not shutting down.
#[utoipa::path(
    get, path = "/health/ready", operation_id = "isReady", tag = "health",
    responses((status = 200, description = "The service is ready for traffic.", body = Nothing), failure::Readiness)
)]
pub(crate) async fn ready(call: Call) -> Result<HttpResponse, ApiError> {
    match timeout(READINESS_TIMEOUT, call.context.readiness.check()).await {
        Ok(Ok(())) => answer("Ready for traffic.", Nothing {}),
        Ok(Err(why)) => Err(ApiError::NotReady(why)),
        Err(_) => Err(ApiError::NotReady("the readiness check timed out".to_owned())),
    }
}

/// The media type of the text format.
const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Read the metrics
#[utoipa::path(
    get, path = "/metrics", operation_id = "getMetrics", tag = "health",
    responses(
        (
            status = 200,
            description = "Metrics in the text format of Prometheus.",
            body = String,
            content_type = "text/plain; version=0.0.4; charset=utf-8",
        ),
    )
)]
pub(crate) async fn show(call: Call) -> HttpResponse {
    let mut text = MetricsText::default();
    call.context.metrics.write(&mut text);
    HttpResponse::Ok()
        .content_type(MEDIA_TYPE)
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(text.render())
}
