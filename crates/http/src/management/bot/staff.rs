//! `/bot/staff/{user}`: what a user is granted by name.

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
use companion_domain::model::UserId;
use std::sync::Arc;

pub(in crate::management) fn resource(path: &'static str) -> Resource {
    kept(path, show, put, remove)
}

async fn show(shared: web::Data<Shared>, request: HttpRequest, _: NoBody) -> Result<HttpResponse, ApiError> {
    let user: UserId = segment(&request, "user")?;
    let found = within_storage(shared.look_up.staff(user)).await?.ok_or(ApiError::NotReported)?;
    stored(wire::StoredStaff::from(found))
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let mut sent = Input::of(&request, &body);
    let user = sent.key("user");
    let (user, grants) = sent.object(|fields, notes| input::staff(user, fields, notes))?;
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
