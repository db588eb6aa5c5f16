//! `GET /team`: the people who maintain the bot, from memory.

use super::PublicContext;
use crate::{
    body::UnusedBody,
    envelope,
    error::ApiError,
    openapi::{ForAMinute, failure::Reading},
    wire::ShownTeam,
};
use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderValue},
    web,
};
use companion_domain::change::Kind;

/// The team that maintains the bot
#[utoipa::path(
    get, path = "/team", operation_id = "getTeam", tag = "public",
    params((
        "If-None-Match" = Option<String>,
        Header,
        description = "Entity tags that the caller has cached, or `*`.",
        example = "\"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU\"",
    )),
    responses(
        (
            status = 200,
            description = "The team, by category, position and name.",
            body = inline(ShownTeam<'_>),
            headers(("ETag" = String), ("Cache-Control" = inline(ForAMinute))),
        ),
        (
            status = 304,
            description = "The caller's copy is current.",
            headers(("ETag" = String), ("Cache-Control" = inline(ForAMinute))),
        ),
        Reading,
    )
)]
pub(crate) async fn show(
    context: web::Data<PublicContext>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    body.ignore(context.settings.body_limit).await?;
    context.projections.read(Kind::Team).await?;
    shown(&context, &request).ok_or_else(ApiError::not_loaded)
}

/// Returns the team from memory, or 304 if the caller's copy is current. Returns `None` if it is not loaded yet.
pub(super) fn shown(context: &PublicContext, request: &HttpRequest) -> Option<HttpResponse> {
    let team = context.projections.team.load();
    let team = team.as_ref()?;
    let mut response = if team.is_known_to(request.headers()) {
        let cache_control = HeaderValue::from_static(ForAMinute::VALUE);
        HttpResponse::NotModified().insert_header((header::CACHE_CONTROL, cache_control)).finish()
    } else {
        envelope::answer_with(team.body.clone(), ForAMinute::VALUE)
    };
    response.headers_mut().append(header::ETAG, team.etag.clone());
    Some(response)
}
