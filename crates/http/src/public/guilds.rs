//! `GET /guilds`: the guilds of the session's user.

use super::{Shared, success};
use crate::{
    audit::Audit, body::UnusedBody, deadline::within_storage, envelope, error::ApiError, headers, wire,
};
use actix_web::{HttpRequest, HttpResponse, http::header, web};
use companion_domain::{
    change::Tally,
    session::Session,
    usecase::{AuthenticateError, ListGuildsError},
};

pub(super) async fn list(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    let token = headers::token(request.headers())?;
    body.ignore(shared.settings.body_limit).await?;
    let session = within_storage(async {
        let found = shared.use_cases.authenticate.authenticate(token).await;
        if let Err(AuthenticateError::Over(session)) = &found {
            ended_with(&request, "expire_session", &[*session]);
        }
        found
    })
    .await?;
    let listing = within_storage(async {
        let listing = shared.use_cases.list_guilds.list(session.user).await;
        match &listing {
            Err(ListGuildsError::SignedOut(ended)) => ended_with(&request, "end_authorisation", ended),
            Err(ListGuildsError::WithoutGrant(ended)) => ended_with(&request, "end_without_grant", ended),
            Ok(_) | Err(_) => {}
        }
        listing
    })
    .await?;
    let pictures = &shared.settings.pictures;
    let guilds: Vec<_> = listing.guilds.iter().map(|guild| wire::Guild::new(guild, pictures)).collect();
    let body = envelope::success("The guilds that you run and that have the bot.", guilds)?;
    let mut response = success(body, "private, no-store");
    response.headers_mut().insert(header::AGE, listing.age.as_secs().into());
    Ok(response)
}

/// Tells the audit trail of sessions that ended with this request, where there are any.
fn ended_with(request: &HttpRequest, action: &'static str, ended: &[Session]) {
    if !ended.is_empty() {
        let tally = Tally { removed: ended.len() as u64, ..Tally::NOTHING };
        Audit::of(request, action).sessions(ended, Some(tally));
    }
}
