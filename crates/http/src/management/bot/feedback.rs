//! `/bot/feedback/{id}`: an entry of feedback.

use super::{Shared, changed};
use crate::{
    error::ApiError,
    input::{self, Key},
    management::request::{JsonBody, read, segment},
    routing,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::model::FeedbackId;

pub(super) fn resource() -> Resource {
    routing::resource("/bot/feedback/{id}", "PUT, DELETE, OPTIONS")
        .route(web::put().to(put))
        .route(web::delete().to(remove))
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let id: FeedbackId = segment(&request, "id")?;
    let feedback = read(&body, |fields, notes| input::feedback(Key::Known(id), fields, notes))?;
    changed(shared.feed.put_feedback(&feedback).await?)
}

async fn remove(shared: web::Data<Shared>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let id: FeedbackId = segment(&request, "id")?;
    changed(shared.feed.remove_feedback(&id).await?)
}
