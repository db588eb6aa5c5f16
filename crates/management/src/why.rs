//! `/bot/guilds/{guild}/why/{user}`: explains why a user sees a guild or does not.

use crate::{change::answer, explanation::GuildExplanation, request::Call};
use actix_web::HttpResponse;
use companion_http::{ApiError, openapi::failure};
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
pub(crate) async fn explain(call: Call) -> Result<HttpResponse, ApiError> {
    let (guild, user) = call.key::<MemberRecord>()?;
    let explanation = call.read(call.context.use_cases.explain.explain(user, guild)).await?;
    let message = match explanation.verdict.listed {
        Ok(_) => "The user is shown the guild.",
        Err(_) => "The user is not shown the guild.",
    };
    answer(message, GuildExplanation::from(&explanation))
}
