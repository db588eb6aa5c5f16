//! `/bot/guilds/{guild}/why/{user}`: explains why a user sees a guild or does not.

use crate::{
    change::answer,
    context::ManagementContext,
    explanation::GuildExplanation,
    request::{EmptyBody, key},
};
use actix_web::{HttpRequest, HttpResponse, web};
use companion_http::{ApiError, deadline::within_storage, openapi::failure};
use companion_records::{MemberRecord, Snowflake};

/// Explain why a user sees a guild or does not
///
/// Uses stored data only; the platform is not asked. Unknown users and guilds are explained too.
#[utoipa::path(
    get, path = "/bot/guilds/{guild}/why/{user}", operation_id = "explainGuild", tag = "feed",
    params(
        ("guild" = Snowflake, Path, description = "The guild's id."),
        ("user" = Snowflake, Path, description = "The user's id."),
    ),
    responses((status = 200, description = "The explanation.", body = GuildExplanation<'_>), failure::Input)
)]
pub(crate) async fn explain(
    context: web::Data<ManagementContext>,
    request: HttpRequest,
    _: EmptyBody,
) -> Result<HttpResponse, ApiError> {
    let (guild, user) = key::<MemberRecord>(&request)?;
    let explanation =
        within_storage(&context.storage_limiter, &request, context.use_cases.explain.explain(user, guild))
            .await?;
    let message = match explanation.verdict.listed {
        Ok(_) => "The user is shown the guild.",
        Err(_) => "The user is not shown the guild.",
    };
    answer(message, GuildExplanation::from(&explanation))
}
