//! `GET /feedback`: a few kind words, at random.

use super::{Shared, success};
use crate::{body::UnusedBody, deadline::within_storage, envelope, error::ApiError, wire};
use actix_web::{HttpResponse, web};

pub(super) async fn pick(shared: web::Data<Shared>, body: UnusedBody) -> Result<HttpResponse, ApiError> {
    body.ignore(shared.settings.body_limit).await?;
    let picked = within_storage(shared.use_cases.pick_feedback.pick()).await?;
    let entries: Vec<_> = picked.iter().map(|entry| wire::FeedbackEntry::from(&**entry)).collect();
    Ok(success(envelope::success("What people like about the bot.", entries)?, "no-store"))
}
