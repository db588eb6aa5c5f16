//! `/bot/staff/{user}`: what a user is granted by name.

use super::{Shared, change, kept};
use crate::{
    audit::Audit,
    error::ApiError,
    input::{self, Key},
    management::request::{JsonBody, NoBody, read, segment},
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::model::UserId;
use std::sync::Arc;

pub(in crate::management) fn resource(path: &'static str) -> Resource {
    kept(path, put, remove)
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let user: UserId = segment(&request, "user")?;
    let (user, grants) = read(&body, |fields, notes| input::staff(Key::Known(user), fields, notes))?;
    let (feed, audit) = (Arc::clone(&shared.feed), Audit::of(&request, "put_staff").user(user));
    change(audit, async move { feed.put_staff(user, grants).await }).await
}

async fn remove(
    shared: web::Data<Shared>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let user: UserId = segment(&request, "user")?;
    let (feed, audit) = (Arc::clone(&shared.feed), Audit::of(&request, "remove_staff").user(user));
    change(audit, async move { feed.remove_staff(user).await }).await
}
