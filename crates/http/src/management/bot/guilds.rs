//! `/bot/guilds/{guild}`: a guild that has the bot.

use super::{Shared, change, kept, stored};
use crate::{
    audit::Audit,
    deadline::within_storage,
    error::ApiError,
    input,
    management::request::{Input, JsonBody, NoBody, segment},
    wire,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::model::GuildId;
use std::sync::Arc;

pub(in crate::management) fn resource(path: &'static str) -> Resource {
    kept(path, show, put, remove)
}

async fn show(shared: web::Data<Shared>, request: HttpRequest, _: NoBody) -> Result<HttpResponse, ApiError> {
    let id: GuildId = segment(&request, "guild")?;
    let found = within_storage(shared.look_up.guild(id)).await?.ok_or(ApiError::NotReported)?;
    stored(wire::StoredGuild::from(&*found))
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let mut sent = Input::of(&request, &body);
    let id = sent.key("guild");
    let guild = sent.object(|fields, notes| input::guild(id, fields, notes))?;
    let (feed, audit) = (Arc::clone(&shared.feed), Audit::of(&request, "put_guild").subject(guild.id));
    change(audit, async move { feed.put_guild(&guild).await }).await
}

async fn remove(
    shared: web::Data<Shared>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let id: GuildId = segment(&request, "guild")?;
    let (feed, audit) = (Arc::clone(&shared.feed), Audit::of(&request, "remove_guild").subject(id));
    change(audit, async move { feed.remove_guild(id).await }).await
}
