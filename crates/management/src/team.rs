//! `/bot/team`: writes the whole team at once.

use crate::{
    change::{Changes, change},
    context::ManagementContext,
    request::{JsonBody, MinBodyLimit},
};
use actix_web::{HttpRequest, HttpResponse, web};
use companion_domain::port::Mutation;
use companion_http::{ApiError, audit::Audit, openapi::failure, routing};
use companion_records::Team;
use std::sync::Arc;

pub(crate) fn resource(path: &'static str) -> routing::Resource {
    routing::resource(path, "PUT, OPTIONS").app_data(MinBodyLimit(Team::MAX_BYTES)).route(web::put().to(put))
}

/// Replace the whole team
#[utoipa::path(
    put, path = "/bot/team", operation_id = "putTeam", tag = "feed",
    request_body(content = Team, example = Team::example),
    responses((status = 200, description = "The team is replaced.", body = Changes), failure::Feeding)
)]
pub(crate) async fn put(
    context: web::Data<ManagementContext>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let roster = Team::read_body(body.document()).map_err(ApiError::InputInvalid)?;
    let feed = Arc::clone(&context.use_cases.feed);
    let audit = Audit::of(&request, "put_team");
    change(&context.storage_limiter, &request, audit, async move {
        feed.apply(vec![Mutation::ReplaceTeam(roster)]).await
    })
    .await
}
