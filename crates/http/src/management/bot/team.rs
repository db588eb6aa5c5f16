//! `/bot/team`: the whole team at once.

use super::{Shared, change};
use crate::{
    audit::Audit,
    error::ApiError,
    management::request::{JsonBody, Room},
    routing,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_records::Team;
use std::sync::Arc;

pub(in crate::management) fn resource(path: &'static str) -> Resource {
    routing::resource(path, "PUT, OPTIONS").app_data(Room(Team::LARGEST)).route(web::put().to(put))
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let roster = body.team()?;
    let (feed, audit) = (Arc::clone(&shared.feed), Audit::of(&request, "put_team"));
    change(audit, async move { feed.replace_team(&roster).await }).await
}
