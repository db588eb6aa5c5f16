//! `/bot/blocked/{user}`: a user who may not use the service.

use super::{Shared, change, kept};
use crate::{
    audit::Audit,
    error::ApiError,
    management::request::{NoBody, segment},
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::model::UserId;
use std::sync::Arc;

pub(in crate::management) fn resource(path: &'static str) -> Resource {
    kept(path, block, unblock)
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
