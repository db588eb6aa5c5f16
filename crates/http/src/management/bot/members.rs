//! `/bot/guilds/{guild}/members/{user}`: the roles of a member.

use super::{Shared, changed};
use crate::{
    error::ApiError,
    input::{self, Key},
    management::request::{JsonBody, read, segment},
    routing,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};

pub(super) fn resource() -> Resource {
    routing::resource("/bot/guilds/{guild}/members/{user}", "PUT, DELETE, OPTIONS")
        .route(web::put().to(put))
        .route(web::delete().to(remove))
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let (guild, user) = (segment(&request, "guild")?, segment(&request, "user")?);
    let member =
        read(&body, |fields, notes| input::member(Key::Known(guild), Key::Known(user), fields, notes))?;
    changed(shared.feed.put_member(&member).await?.ok_or(ApiError::GuildUnknown)?)
}

async fn remove(shared: web::Data<Shared>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let (guild, user) = (segment(&request, "guild")?, segment(&request, "user")?);
    changed(shared.feed.remove_member(guild, user).await?.ok_or(ApiError::GuildUnknown)?)
}
