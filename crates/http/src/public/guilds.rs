//! `GET /guilds`: the guilds of the session's user.

use super::{Shared, success};
use crate::{
    audit::Audit, body::UnusedBody, deadline::within_storage, envelope, error::ApiError, headers, wire,
};
use actix_web::{HttpRequest, HttpResponse, http::header, web};
use companion_domain::{
    change::Tally,
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
            Audit::of(&request, "expire_session").sessions(&[*session], Some(Tally::REMOVED));
        }
        found
    })
    .await?;
    let audit = Audit::of(&request, "end_authorisation").user(session.user);
    let listing = within_storage(async {
        let listing = shared.use_cases.list_guilds.list(session.user).await;
        if let Err(ListGuildsError::SignedOut) = &listing {
            audit.sessions(&[session], None);
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
