//! `/bot/guilds/{guild}/why/{user}`: what a user is shown of a guild, and why.

use super::Shared;
use crate::{
    deadline::within_storage,
    envelope,
    error::ApiError,
    management::{
        request::{NoBody, key},
        success,
    },
    wire,
};
use actix_web::{HttpRequest, HttpResponse, web};
use companion_records::MemberRecord;

pub(in crate::management) async fn explain(
    shared: web::Data<Shared>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let (guild, user) = key::<MemberRecord>(&request)?;
    let explanation = within_storage(shared.explain.explain(user, guild)).await?;
    let message = match explanation.verdict.listed {
        Ok(_) => "The user is shown the guild.",
        Err(_) => "The user is not shown the guild.",
    };
    Ok(success(envelope::success(message, wire::Explanation::from(&explanation))?))
}
