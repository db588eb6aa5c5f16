//! `GET /metrics`: numbers for those who watch.

use super::{Shared, request::NoBody};
use crate::metrics::{MetricsSource as _, MetricsText};
use actix_web::{HttpResponse, http::header, web};

/// The media type of the text format.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) async fn show(shared: web::Data<Shared>, _: NoBody) -> HttpResponse {
    let mut text = MetricsText::default();
    shared.metrics.write(&mut text);
    HttpResponse::Ok()
        .content_type(MEDIA_TYPE)
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(text.render())
}
