//! `/bot/feedback/{id}`: an entry of feedback.

use super::{Shared, change, kept, stored};
use crate::{
    audit::Audit,
    deadline::within_storage,
    error::ApiError,
    input,
    management::request::{Input, JsonBody, NoBody, segment},
    wire,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::model::FeedbackId;
use std::sync::Arc;

pub(in crate::management) fn resource(path: &'static str) -> Resource {
    kept(path, show, put, remove)
}

async fn show(shared: web::Data<Shared>, request: HttpRequest, _: NoBody) -> Result<HttpResponse, ApiError> {
    let id: FeedbackId = segment(&request, "id")?;
    let found = within_storage(shared.look_up.feedback(&id)).await?.ok_or(ApiError::NotReported)?;
    stored(wire::StoredFeedback::from(&*found))
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let mut sent = Input::of(&request, &body);
    let id = sent.key("id");
    let feedback = sent.object(|fields, notes| input::feedback(id, fields, notes))?;
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
