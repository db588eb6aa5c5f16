//! `DELETE /users/{user}`: a user is forgotten.

use crate::{
    change::{answer, audited},
    changes::Changes,
    context::ManagementContext,
    request::{NoBody, segment},
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::{change::Tally, model::UserId};
use companion_http::{ApiError, audit::Audit, openapi::failure, routing};
use companion_records::Snowflake;
use std::sync::Arc;

pub(crate) fn resource(path: &'static str) -> Resource {
    routing::resource(path, "DELETE, OPTIONS").route(web::delete().to(forget))
}

/// Forget a user
///
/// Removes sessions, grant, member roles, staff grants, subscription and feedback. A block stays, and so does a place in
/// the team.
#[utoipa::path(
    delete, path = "/users/{user}", operation_id = "forgetUser", tag = "sessions",
    params(("user" = Snowflake, Path, description = "The user's id.")),
    responses((status = 200, description = "Nothing of that is left.", body = Changes), failure::Input)
)]
pub(crate) async fn forget(
    context: web::Data<ManagementContext>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let user: UserId = segment(&request, "user")?;
    let forget = Arc::clone(&context.use_cases.forget);
    let audit = Audit::of(&request, "forget_user").user(user);
    let tally = audited(&context.gate, audit, async move { forget.forget(user).await }).await?;
    let message = if tally == Tally::NOTHING {
        "Nothing was known of the user."
    } else {
        "What was known of the user is forgotten."
    };
    answer(message, Changes::from(tally))
}
