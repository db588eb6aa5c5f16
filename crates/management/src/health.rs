//! `GET /health/live`, `GET /health/ready` and `GET /metrics`.

use crate::{change::answer, context::ManagementContext, request::NoBody};
use actix_web::{HttpResponse, http::header, web};
use companion_http::{ApiError, MetricsSource as _, MetricsText, openapi::failure, wire::Nothing};
use std::time::Duration;
use tokio::time::timeout;

/// A probe that has not answered by then has answered.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether the process runs
#[utoipa::path(
    get, path = "/health/live", operation_id = "isAlive", tag = "health",
    responses((status = 200, description = "The process answers.", body = Nothing), failure::Reading)
)]
pub(crate) async fn live(_: NoBody) -> Result<HttpResponse, ApiError> {
    answer("Alive.", Nothing {})
}

/// Whether traffic is welcome
///
/// Both listeners accept, storage answers and is migrated, the public answers are loaded, and the service is not about to
/// stop.
#[utoipa::path(
    get, path = "/health/ready", operation_id = "isReady", tag = "health",
    responses((status = 200, description = "Traffic is welcome.", body = Nothing), failure::Readiness)
)]
pub(crate) async fn ready(
    context: web::Data<ManagementContext>,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    match timeout(PATIENCE, context.readiness.check()).await {
        Ok(Ok(())) => answer("Ready for traffic.", Nothing {}),
        Ok(Err(why)) => Err(ApiError::NotReady(why)),
        Err(_) => Err(ApiError::NotReady("no answer in time".to_owned())),
    }
}

/// The media type of the text format.
const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Numbers for those who watch
#[utoipa::path(
    get, path = "/metrics", operation_id = "getMetrics", tag = "health",
    responses(
        (
            status = 200,
            description = "Metrics in the text format of Prometheus.",
            body = String,
            content_type = "text/plain; version=0.0.4; charset=utf-8",
        ),
        failure::Metrics,
    )
)]
pub(crate) async fn show(context: web::Data<ManagementContext>, _: NoBody) -> HttpResponse {
    let mut text = MetricsText::default();
    context.metrics.write(&mut text);
    HttpResponse::Ok()
        .content_type(MEDIA_TYPE)
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(text.render())
}
