//! `GET /feedback`: a few positive entries at random.

use super::PublicContext;
use crate::{
    body::UnusedBody,
    deadline::{within, within_storage},
    envelope,
    error::ApiError,
    openapi::failure::Reading,
    projection::feedback,
    wire::{Bounded, FeedbackEntry, PickedFeedback},
};
use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Bytes},
};
use std::time::Duration;

/// How long the store may take to pick before entries from memory replace its answer.
const STAND_IN_AFTER: Duration = Duration::from_millis(250);

/// What people like about the bot
#[utoipa::path(
    get, path = "/feedback", operation_id = "pickFeedback", tag = "public",
    responses(
        (
            status = 200,
            description = "Five entries rated 4 or 5 at random, or all if there are fewer.",
            body = inline(PickedFeedback<'_>),
        ),
        Reading,
    )
)]
pub(crate) async fn pick(
    context: web::Data<PublicContext>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    body.ignore(context.settings.body_limit).await?;
    match from_memory(&context) {
        Some(picked) => Ok(picked),
        None => from_store(&context, &request).await,
    }
}

fn answered(body: Bytes) -> HttpResponse {
    envelope::answer_with(body, "no-store")
}

/// Picks from memory, if the entries there are up to date.
pub(super) fn from_memory(context: &PublicContext) -> Option<HttpResponse> {
    context.projections.feedback.pick(&*context.clock).map(answered)
}

/// Picks from the store. If that fails, returns the last entries that were in memory.
async fn from_store(context: &PublicContext, request: &HttpRequest) -> Result<HttpResponse, ApiError> {
    let feedback = &context.projections.feedback;
    let picking = context.use_cases.pick_feedback.pick();
    let picked = if feedback.can_stand_in() {
        within(STAND_IN_AFTER, &context.storage_limiter, request, picking).await
    } else {
        within_storage(&context.storage_limiter, request, picking).await
    };
    match picked {
        Ok(picked) => {
            let entries = picked.iter().map(|entry| FeedbackEntry::from(&**entry)).collect();
            let entries: PickedFeedback<'_> = Bounded(entries);
            envelope::answer(feedback::MESSAGE, entries, "no-store")
        }
        Err(error) => feedback.stand_in(&*context.clock).map(answered).ok_or(error),
    }
}
