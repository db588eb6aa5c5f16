//! `/bot/guilds/{guild}/members/{user}`: the roles of a member.

use super::{Shared, change, kept, stored};
use crate::{
    audit::Audit,
    deadline::within_storage,
    error::ApiError,
    input,
    management::request::{Input, JsonBody, NoBody, segments},
    wire,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::model::{GuildId, UserId};
use std::sync::Arc;

pub(in crate::management) fn resource(path: &'static str) -> Resource {
    kept(path, show, put, remove)
}

async fn show(shared: web::Data<Shared>, request: HttpRequest, _: NoBody) -> Result<HttpResponse, ApiError> {
    let (guild, user) = place(&request)?;
    let found = within_storage(shared.look_up.member(guild, user)).await?.ok_or(ApiError::GuildUnknown)?;
    stored(wire::StoredMember::from(&*found))
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let mut sent = Input::of(&request, &body);
    let (guild, user) = (sent.key("guild"), sent.key("user"));
    let member = sent.object(|fields, notes| input::member(guild, user, fields, notes))?;
    let feed = Arc::clone(&shared.feed);
    let audit = Audit::of(&request, "put_member").user(member.user).subject(member.guild);
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
    segments(request, "guild", "user")
}
