//! `GET /guilds`: the guilds of the session's user.

use super::context::PublicContext;
use crate::{
    audit::Audit,
    body::UnusedBody,
    deadline::within_storage,
    envelope,
    error::ApiError,
    headers,
    openapi::{Private, failure::Listing},
    receipt::Receipt,
    wire::{Guild, SessionToken},
};
use actix_web::{HttpRequest, HttpResponse, http::header, web};
use companion_domain::{
    change::Tally,
    model::UserId,
    session::Session,
    usecase::{AuthenticateError, GuildListing, ListGuildsError},
};
use std::future::Future;

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
    let session = within_storage(&context.storage, async {
        let found = context.use_cases.authenticate.authenticate(token).await;
        if let Err(AuthenticateError::Over(session)) = &found {
            ended_with(&request, "expire_session", &[*session]);
        }
        found
    })
    .await?;
    let list_guilds = &context.use_cases.list_guilds;
    let current = recorded(&request, list_guilds.current(session.user));
    let listing = match within_storage(&context.storage, current).await? {
        Some(current) => current,
        None => {
            within_storage(&context.newer_lists, recorded(&request, list_guilds.newer(session.user))).await?
        }
    };
    listed(&context, session.user, &listing)
}

/// The same before routing, where nothing has to be waited for or recorded.
pub(super) fn ready(context: &PublicContext, request: &HttpRequest, _: &Receipt) -> Option<HttpResponse> {
    let token = headers::token(request.headers()).ok()?;
    let user = context.use_cases.authenticate.at_hand(token)?.user;
    let listing = context.use_cases.list_guilds.at_hand(user)?;
    listed(context, user, &listing).ok()
}

fn listed(context: &PublicContext, user: UserId, listing: &GuildListing) -> Result<HttpResponse, ApiError> {
    let body = context.listings.get_or_render(user, &listing.listing, || {
        let shown = listing.guilds();
        let guilds: Vec<_> =
            shown.iter().map(|guild| Guild::new(guild, &context.settings.pictures)).collect();
        envelope::success("The guilds that you run and that have the bot.", guilds)
    })?;
    let mut response = envelope::answer_with(body, Private::VALUE);
    response.headers_mut().insert(header::AGE, listing.age.as_secs().into());
    Ok(response)
}

/// Tells the audit trail of sessions that turned out to be over.
async fn recorded<T>(
    request: &HttpRequest,
    listing: impl Future<Output = Result<T, ListGuildsError>>,
) -> Result<T, ListGuildsError> {
    let listing = listing.await;
    match &listing {
        Err(ListGuildsError::SignedOut(ended)) => ended_with(request, "end_authorisation", ended),
        Err(ListGuildsError::WithoutGrant(ended)) => ended_with(request, "end_without_grant", ended),
        Ok(_) | Err(_) => {}
    }
    listing
}

/// Tells the audit trail of sessions that ended with this request, where there are any.
fn ended_with(request: &HttpRequest, action: &'static str, ended: &[Session]) {
    if !ended.is_empty() {
        let tally = Tally { removed: ended.len() as u64, ..Tally::NOTHING };
        Audit::of(request, action).sessions(ended, Some(tally));
    }
}
