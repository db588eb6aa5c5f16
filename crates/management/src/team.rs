//! `/bot/team`: writes the whole team at once.

use crate::{
    change::Changes,
    request::{Call, Document},
};
use actix_web::HttpResponse;
use companion_domain::port::Mutation;
use companion_http::{ApiError, openapi::failure};
use companion_records::Team;

/// Replace the whole team
#[utoipa::path(
    put, path = "/bot/team", operation_id = "putTeam", tag = "feed",
    request_body(content = Team, example = Team::example),
    responses((status = 200, description = "The team is replaced.", body = Changes), failure::Feeding)
)]
pub(crate) async fn put(call: Call<Document>) -> Result<HttpResponse, ApiError> {
    let roster = Team::read_body(&call.body).map_err(ApiError::InputInvalid)?;
    call.feed(call.audit("put_team"), Mutation::ReplaceTeam(roster)).await
}
