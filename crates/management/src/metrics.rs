//! `GET /metrics`: numbers for those who watch.

use crate::{context::ManagementContext, request::NoBody};
use actix_web::{HttpResponse, http::header, web};
use companion_http::{MetricsSource as _, MetricsText, openapi::failure};

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
