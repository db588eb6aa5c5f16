//! `/bot/staff/{user}`: what a user is granted by name.

use super::{Shared, changed};
use crate::{
    error::ApiError,
    input::{self, Key},
    management::request::{JsonBody, read, segment},
    routing,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};

pub(super) fn resource() -> Resource {
    routing::resource("/bot/staff/{user}", "PUT, DELETE, OPTIONS")
        .route(web::put().to(put))
        .route(web::delete().to(remove))
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let user = segment(&request, "user")?;
    let (user, grants) = read(&body, |fields, notes| input::staff(Key::Known(user), fields, notes))?;
    changed(shared.feed.put_staff(user, grants).await?)
}

async fn remove(shared: web::Data<Shared>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    changed(shared.feed.remove_staff(segment(&request, "user")?).await?)
}
