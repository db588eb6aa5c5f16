//! `/bot/guilds/{guild}/members/{user}`: the roles of a member.

use super::{Shared, change, kept};
use crate::{
    audit::Audit,
    error::ApiError,
    input::{self, Key},
    management::request::{JsonBody, NoBody, read, segment},
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::model::{GuildId, UserId};
use std::sync::Arc;

pub(in crate::management) fn resource(path: &'static str) -> Resource {
    kept(path, put, remove)
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let (guild, user) = place(&request)?;
    let member =
        read(&body, |fields, notes| input::member(Key::Known(guild), Key::Known(user), fields, notes))?;
    let feed = Arc::clone(&shared.feed);
    let audit = Audit::of(&request, "put_member").user(user).subject(guild);
    change(audit, async move { feed.put_member(&member).await?.ok_or(ApiError::GuildUnknown) }).await
}

async fn remove(
    shared: web::Data<Shared>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let (guild, user) = place(&request)?;
    let feed = Arc::clone(&shared.feed);
    let audit = Audit::of(&request, "remove_member").user(user).subject(guild);
    change(audit, async move { feed.remove_member(guild, user).await?.ok_or(ApiError::GuildUnknown) }).await
}

fn place(request: &HttpRequest) -> Result<(GuildId, UserId), ApiError> {
    Ok((segment(request, "guild")?, segment(request, "user")?))
}
