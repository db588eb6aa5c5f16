//! `/bot/plus/{user}`: a user's premium subscription.

use super::{Shared, changed};
use crate::{
    error::ApiError,
    input::{self, Key},
    management::request::{JsonBody, read, segment},
    routing,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};

pub(super) fn resource() -> Resource {
    routing::resource("/bot/plus/{user}", "PUT, DELETE, OPTIONS")
        .route(web::put().to(put))
        .route(web::delete().to(remove))
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let user = segment(&request, "user")?;
    let subscription = read(&body, |fields, notes| input::subscription(Key::Known(user), fields, notes))?;
    changed(shared.feed.put_subscription(&subscription).await?)
}

async fn remove(shared: web::Data<Shared>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    changed(shared.feed.remove_subscription(segment(&request, "user")?).await?)
}
