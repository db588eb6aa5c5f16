//! `/bot/blocked/{user}`: a user who may not use the service.

use super::{Shared, change, kept, stored};
use crate::{
    audit::Audit,
    deadline::within_storage,
    error::ApiError,
    management::request::{NoBody, segment},
    wire,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::model::UserId;
use std::sync::Arc;

pub(in crate::management) fn resource(path: &'static str) -> Resource {
    kept(path, show, block, unblock)
}

async fn show(shared: web::Data<Shared>, request: HttpRequest, _: NoBody) -> Result<HttpResponse, ApiError> {
    let user: UserId = segment(&request, "user")?;
    let blocked = within_storage(shared.look_up.is_blocked(user)).await?;
    if blocked { stored(wire::Nothing {}) } else { Err(ApiError::NotReported) }
}

async fn block(shared: web::Data<Shared>, request: HttpRequest, _: NoBody) -> Result<HttpResponse, ApiError> {
    let user: UserId = segment(&request, "user")?;
    let (feed, audit) = (Arc::clone(&shared.feed), Audit::of(&request, "block").user(user));
    change(audit, async move { feed.block(user).await }).await
}

async fn unblock(
    shared: web::Data<Shared>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let user: UserId = segment(&request, "user")?;
    let (feed, audit) = (Arc::clone(&shared.feed), Audit::of(&request, "unblock").user(user));
    change(audit, async move { feed.unblock(user).await }).await
}
