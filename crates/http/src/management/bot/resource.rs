//! A record that is put, looked up and removed under its key.

use super::{Shared, change};
use crate::{
    audit::Audit,
    deadline::within_storage,
    envelope,
    error::ApiError,
    management::{
        request::{JsonBody, NoBody, key},
        success,
    },
    routing,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::{
    change::Tally,
    port::StoreError,
    usecase::{Feed, LookUp},
};
use companion_records::{Body, Record};
use std::{borrow::Borrow, sync::Arc};

/// A record that the bot keeps up to date.
pub(in crate::management) trait Kept: Record + 'static {
    /// What a look-up finds.
    type Found: Borrow<Self::Value>;

    /// What the audit trail calls putting and removing it.
    const ACTIONS: [&'static str; 2];

    /// Tells the audit trail whom and what it is about.
    fn audited(audit: Audit, key: &Self::Key) -> Audit;

    /// Tells it what only a record that is put says.
    fn audited_put(audit: Audit, _: &Self::Value) -> Audit {
        audit
    }

    /// What is stored under the key.
    async fn find(look_up: &LookUp, key: Self::Key) -> Result<Option<Self::Found>, StoreError>;

    /// Stores it. Nothing where it belongs to something that is not known.
    async fn put(feed: &Feed, value: Self::Value) -> Result<Option<Tally>, StoreError>;

    /// Removes it. Nothing where it belongs to something that is not known.
    async fn remove(feed: &Feed, key: Self::Key) -> Result<Option<Tally>, StoreError>;

    /// Why nothing is found under a key.
    fn missing() -> ApiError {
        ApiError::NotReported
    }
}

/// The path of these records. HEAD runs the same handler as GET.
pub(in crate::management) fn resource<R: Kept>(path: &'static str) -> Resource {
    routing::resource(path, "GET, HEAD, PUT, DELETE, OPTIONS")
        .route(web::get().to(show::<R>))
        .route(web::head().to(show::<R>))
        .route(web::put().to(put::<R>))
        .route(web::delete().to(remove::<R>))
}

async fn show<R: Kept>(
    shared: web::Data<Shared>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let key = key::<R>(&request)?;
    let found = within_storage(R::find(&shared.look_up, key)).await?.ok_or_else(R::missing)?;
    Ok(success(envelope::success("What is stored.", Body::<R>::of(found.borrow()))?))
}

async fn put<R: Kept>(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let value = body.record::<R>(&request)?;
    let [action, _] = R::ACTIONS;
    let audit = R::audited(Audit::of(&request, action), &key::<R>(&request)?);
    let audit = R::audited_put(audit, &value);
    let feed = Arc::clone(&shared.feed);
    change(audit, async move { R::put(&feed, value).await?.ok_or_else(R::missing) }).await
}

async fn remove<R: Kept>(
    shared: web::Data<Shared>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let key = key::<R>(&request)?;
    let [_, action] = R::ACTIONS;
    let audit = R::audited(Audit::of(&request, action), &key);
    let feed = Arc::clone(&shared.feed);
    change(audit, async move { R::remove(&feed, key).await?.ok_or_else(R::missing) }).await
}
