//! `/bot/team`: the whole team at once.

use super::{Shared, change};
use crate::{
    audit::Audit,
    error::ApiError,
    input,
    management::request::{Input, JsonBody, Room},
    routing,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use std::sync::Arc;

pub(in crate::management) fn resource(path: &'static str) -> Resource {
    routing::resource(path, "PUT, OPTIONS").app_data(Room(input::LARGEST_ROSTER)).route(web::put().to(put))
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let roster = Input::of(&request, &body).node(input::roster)?;
    let (feed, audit) = (Arc::clone(&shared.feed), Audit::of(&request, "put_team"));
    change(audit, async move { feed.replace_team(&roster).await }).await
}
