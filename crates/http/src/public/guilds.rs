//! `GET /guilds`: the guilds of the session's user.

use super::PublicContext;
use crate::{
    body::UnusedBody,
    envelope,
    error::ApiError,
    headers,
    openapi::{Private, failure::Listing},
    session_use::{guilds_of, session_of},
    wire::{Guild, SessionToken},
};
use actix_web::{
    HttpRequest, HttpResponse,
    http::header,
    web::{self, Bytes},
};
use companion_domain::usecase::GuildListing;

/// The guilds that the session's user runs and that have the bot
#[utoipa::path(
    get, path = "/guilds", operation_id = "listGuilds", tag = "public",
    security(("Token" = [])),
    params(("Token" = SessionToken<'_>, Header, description = "The session token, sent exactly once.")),
    responses(
        (
            status = 200,
            description = "The guilds, by role, name and id.",
            body = Vec<Guild<'_>>,
            headers(("Age" = u64), ("Cache-Control" = inline(Private))),
        ),
        Listing,
    )
)]
pub(crate) async fn list(
    context: web::Data<PublicContext>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    let token = headers::token(request.headers())?;
    body.ignore(context.settings.body_limit).await?;
    let PublicContext { use_cases, storage_limiter, list_limiter, .. } = &**context;
    let session = session_of(token, &use_cases.authenticate, storage_limiter, &request).await?;
    let listing =
        guilds_of(session.user, &use_cases.list_guilds, storage_limiter, list_limiter, &request).await?;
    listed(&context, &listing)
}

/// Returns the response from the caches, before routing. `None` if anything is missing, stale or has to be audited.
pub(super) fn from_caches(context: &PublicContext, request: &HttpRequest) -> Option<HttpResponse> {
    let token = headers::token(request.headers()).ok()?;
    let user = context.use_cases.authenticate.cached(token)?.user;
    let listing = context.use_cases.list_guilds.cached(user)?;
    listed(context, &listing).ok()
}

fn listed(context: &PublicContext, listing: &GuildListing) -> Result<HttpResponse, ApiError> {
    let body = listing.listing.memo.get_or_compute(|| {
        let (shown, pictures) = (listing.guilds(), &context.settings.pictures);
        let guilds: Vec<_> = shown.iter().map(|guild| Guild::from((guild, pictures))).collect();
        let body = envelope::success("The guilds that you run and that have the bot.", guilds)?;
        // Without spare capacity, which would stay allocated as long as the listing.
        Ok::<_, ApiError>(Bytes::from(Vec::from(body).into_boxed_slice()))
    })?;
    let mut response = envelope::answer_with(body, Private::VALUE);
    response.headers_mut().append(header::AGE, listing.age.as_secs().into());
    Ok(response)
}
