//! `/bot/team`: the whole team at once.

use super::{Shared, changed};
use crate::{
    error::ApiError,
    input,
    management::request::{JsonBody, read_node},
    routing,
};
use actix_web::{HttpResponse, Resource, web};

pub(super) fn resource() -> Resource {
    routing::resource("/bot/team", "PUT, OPTIONS").route(web::put().to(put))
}

async fn put(shared: web::Data<Shared>, body: JsonBody) -> Result<HttpResponse, ApiError> {
    let roster = read_node(&body, input::roster)?;
    changed(shared.feed.replace_team(&roster).await?)
}
