//! `GET` and `PATCH /guilds/{guild}/settings`, off by default: settings of a guild in the user's list.

use super::PublicContext;
use crate::{
    body::{UnusedBody, read_json},
    envelope,
    error::ApiError,
    headers,
    openapi::Private,
    routing,
    session_use::{session_of, shown_settings_of},
    settings::{MAX_CHANGE_BYTES, change_settings, expected_revision, read_change},
    wire::shown_settings,
};
use actix_web::{
    HttpRequest, HttpResponse,
    http::{Method, header::IF_MATCH},
    web,
};
use companion_domain::{
    model::{GuildId, UserId},
    settings::Origin,
    usecase::UserChange,
};

pub(super) const PATH: &str = "/guilds/{guild}/settings";

pub(super) fn resource() -> routing::Resource {
    routing::resource(PATH).on(Method::GET, show).on(Method::PATCH, change)
}

async fn show(
    context: web::Data<PublicContext>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    let token = headers::token(request.headers())?;
    body.ignore(context.settings.body_limit).await?;
    let user = user_of(&context, token, &request).await?;
    answer(&context, &request, user, guild_of(&request)?).await
}

async fn change(
    context: web::Data<PublicContext>,
    request: HttpRequest,
    body: web::Payload,
) -> Result<HttpResponse, ApiError> {
    let token = headers::token(request.headers())?;
    let limit = MAX_CHANGE_BYTES.max(context.settings.body_limit);
    let sent = read_json(request.headers(), body.into_inner(), limit).await?;
    let user = user_of(&context, token, &request).await?;
    let guild = guild_of(&request)?;
    let expected = expected_revision(request.headers())?;
    if !request.headers().contains_key(IF_MATCH) {
        return Err(ApiError::PreconditionRequired);
    }
    let (values, _) = read_change(&sent, false)?;
    let PublicContext { use_cases, storage_limiter, .. } = &**context;
    let change = UserChange { user, guild, values, expected, via: Origin::Api };
    change_settings(&use_cases.settings, storage_limiter, &request, change).await?;
    answer(&context, &request, user, guild).await
}

async fn user_of(context: &PublicContext, token: &str, request: &HttpRequest) -> Result<UserId, ApiError> {
    let session =
        session_of(token, &context.use_cases.authenticate, &context.storage_limiter, request).await?;
    Ok(session.user)
}

fn guild_of(request: &HttpRequest) -> Result<GuildId, ApiError> {
    routing::parameter(request, "guild").parse().map_err(|_| ApiError::NotFound)
}

async fn answer(
    context: &PublicContext,
    request: &HttpRequest,
    user: UserId,
    guild: GuildId,
) -> Result<HttpResponse, ApiError> {
    let PublicContext { use_cases, list_limiter, .. } = context;
    let (view, rights) = shown_settings_of(user, guild, &use_cases.settings, list_limiter, request).await?;
    envelope::answer("The settings of the guild.", shown_settings(&view, rights)?, Private::VALUE)
}
