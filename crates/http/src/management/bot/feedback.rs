//! `/bot/feedback/{id}`: an entry of feedback.

use super::{Shared, change, kept};
use crate::{
    audit::Audit,
    error::ApiError,
    input::{self, Key},
    management::request::{JsonBody, NoBody, read, segment},
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::model::FeedbackId;
use std::sync::Arc;

pub(in crate::management) fn resource(path: &'static str) -> Resource {
    kept(path, put, remove)
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let id: FeedbackId = segment(&request, "id")?;
    let feedback = read(&body, |fields, notes| input::feedback(Key::Known(id), fields, notes))?;
    let audit = Audit::of(&request, "put_feedback").user(feedback.submitter.id).subject(&feedback.id);
    let feed = Arc::clone(&shared.feed);
    change(audit, async move { feed.put_feedback(&feedback).await }).await
}

async fn remove(
    shared: web::Data<Shared>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let id: FeedbackId = segment(&request, "id")?;
    let (feed, audit) = (Arc::clone(&shared.feed), Audit::of(&request, "remove_feedback").subject(&id));
    change(audit, async move { feed.remove_feedback(&id).await }).await
}
