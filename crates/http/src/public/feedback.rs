//! `GET /feedback`: a few kind words, at random.

use super::context::PublicContext;
use crate::{
    body::UnusedBody,
    deadline::within_storage,
    envelope,
    error::ApiError,
    openapi::failure::Everywhere,
    wire::{FeedbackEntry, PickedFeedback},
};
use actix_web::{HttpResponse, web};

/// What people like about the bot
#[utoipa::path(
    get, path = "/feedback", operation_id = "pickFeedback", tag = "public",
    responses(
        (
            status = 200,
            description = "Five entries rated 4 or 5 at random, or all where there are fewer.",
            body = inline(PickedFeedback<'_>),
        ),
        Everywhere,
    )
)]
pub(crate) async fn pick(
    context: web::Data<PublicContext>,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    body.ignore(context.settings.body_limit).await?;
    let picked = within_storage(context.use_cases.pick_feedback.pick()).await?;
    let entries = PickedFeedback(picked.iter().map(|entry| FeedbackEntry::from(&**entry)).collect());
    envelope::answer("What people like about the bot.", entries, "no-store")
}
