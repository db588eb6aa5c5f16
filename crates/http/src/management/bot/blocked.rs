//! `/bot/blocked/{user}`: a user who may not use the service.

use super::{Shared, changed};
use crate::{body::UnusedBody, error::ApiError, management::request::segment, routing};
use actix_web::{HttpRequest, HttpResponse, Resource, web};

pub(super) fn resource() -> Resource {
    routing::resource("/bot/blocked/{user}", "PUT, DELETE, OPTIONS")
        .route(web::put().to(block))
        .route(web::delete().to(unblock))
}

async fn block(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    let user = segment(&request, "user")?;
    body.ignore(shared.body_limit).await?;
    changed(shared.feed.block(user).await?)
}

async fn unblock(shared: web::Data<Shared>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    changed(shared.feed.unblock(segment(&request, "user")?).await?)
}
