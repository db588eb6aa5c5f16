//! `/bot/plus/{user}`: a user's premium subscription.

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
    let found = within_storage(shared.look_up.subscription(user)).await?.ok_or(ApiError::NotReported)?;
    stored(wire::StoredPlus::from(&*found))
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let mut sent = Input::of(&request, &body);
    let user = sent.key("user");
    let subscription = sent.object(|fields, notes| input::subscription(user, fields, notes))?;
    let (feed, audit) = (Arc::clone(&shared.feed), Audit::of(&request, "put_plus").user(subscription.user));
    change(audit, async move { feed.put_subscription(&subscription).await }).await
}

async fn remove(
    shared: web::Data<Shared>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let user: UserId = segment(&request, "user")?;
    let (feed, audit) = (Arc::clone(&shared.feed), Audit::of(&request, "remove_plus").user(user));
    change(audit, async move { feed.remove_subscription(user).await }).await
}
