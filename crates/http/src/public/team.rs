//! `GET /team`: the people who maintain the bot, from memory.

use super::{Shared, success};
use crate::{body::UnusedBody, error::ApiError};
use actix_web::{HttpRequest, HttpResponse, http::header, web};

const CACHE_CONTROL: &str = "max-age=60";

pub(super) async fn show(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    body.ignore(shared.settings.body_limit).await?;
    let team = shared.projections.team().ok_or_else(ApiError::not_loaded)?;
    let mut response = if team.is_known_to(request.headers()) {
        HttpResponse::NotModified().insert_header((header::CACHE_CONTROL, CACHE_CONTROL)).finish()
    } else {
        success(team.body.clone(), CACHE_CONTROL)
    };
    response.headers_mut().insert(header::ETAG, team.etag.clone());
    Ok(response)
}
