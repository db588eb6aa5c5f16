//! `/bot/guilds/{guild}`: a guild that has the bot.

use super::{Shared, changed};
use crate::{
    error::ApiError,
    input::{self, Key},
    management::request::{JsonBody, read, segment},
    routing,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};

pub(super) fn resource() -> Resource {
    routing::resource("/bot/guilds/{guild}", "PUT, DELETE, OPTIONS")
        .route(web::put().to(put))
        .route(web::delete().to(remove))
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let id = segment(&request, "guild")?;
    let guild = read(&body, |fields, notes| input::guild(Key::Known(id), fields, notes))?;
    changed(shared.feed.put_guild(&guild).await?)
}

async fn remove(shared: web::Data<Shared>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    changed(shared.feed.remove_guild(segment(&request, "guild")?).await?)
}
