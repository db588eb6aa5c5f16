//! `/users/{user}`: reads or deletes all stored data of a user.

use crate::{
    change::{Changes, answer},
    request::Call,
};
use actix_web::{HttpResponse, web};
use companion_domain::{change::Tally, model::UserId};
use companion_http::{ApiError, forget_user, openapi::failure, routing, wire::StoredUser};
use companion_records::Snowflake;

pub(crate) fn resource(path: &'static str) -> routing::Resource {
    routing::resource(path, "GET, HEAD, DELETE, OPTIONS")
        .route(web::get().to(show))
        .route(web::head().to(show))
        .route(web::delete().to(forget))
}

/// Read all stored data of a user
///
/// What forgetting them would remove, in one document. It does not contain the platform's tokens, which are sealed, nor
/// a block or a place in the team, which forgetting keeps.
#[utoipa::path(
    get, path = "/users/{user}", operation_id = "getUser", tag = "sessions",
    params(("user" = Snowflake, Path, description = "The user's id.")),
    responses(
        (status = 200, description = "All stored data of the user.", body = StoredUser<'_>),
        failure::LookUp,
    )
)]
pub(crate) async fn show(call: Call) -> Result<HttpResponse, ApiError> {
    let user: UserId = call.segment("user")?;
    let stored = call.read(call.context.use_cases.show_user.show(user)).await?;
    let stored = stored.ok_or(ApiError::NotReported)?;
    answer("Everything that is stored about the user.", StoredUser::from((user, &stored)))
}

/// Forget a user
///
/// Removes sessions, grant, member roles, staff grants, subscription and feedback. Keeps a block and a place in the
/// team.
#[utoipa::path(
    delete, path = "/users/{user}", operation_id = "forgetUser", tag = "sessions",
    params(("user" = Snowflake, Path, description = "The user's id.")),
    responses((status = 200, description = "The data is removed.", body = Changes), failure::Input)
)]
pub(crate) async fn forget(call: Call) -> Result<HttpResponse, ApiError> {
    let user: UserId = call.segment("user")?;
    let Call { context, request, .. } = call;
    let tally = forget_user(&context.use_cases.forget, &context.storage_limiter, &request, user).await?;
    let message = if tally == Tally::NOTHING {
        "No data of the user was stored."
    } else {
        "All data of the user has been deleted."
    };
    answer(message, Changes::from(tally))
}
