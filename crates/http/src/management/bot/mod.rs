//! What the bot feeds, one file for each part of its world.

pub(super) mod blocked;
pub(super) mod clusters;
pub(super) mod feedback;
pub(super) mod guilds;
pub(super) mod members;
pub(super) mod plus;
pub(super) mod staff;
pub(super) mod sync;
pub(super) mod team;
pub(super) mod why;

use super::Shared;
use crate::{audit::Audit, deadline, envelope, error::ApiError, routing, wire};
use actix_web::{FromRequest, Handler, HttpResponse, Resource, Responder, web};
use companion_domain::change::Tally;
use serde::Serialize;
use std::future::Future;

/// A path that is put, looked up and deleted. HEAD runs the same handler as GET.
fn kept<G, P, D, GetArgs, PutArgs, DeleteArgs>(path: &'static str, get: G, put: P, delete: D) -> Resource
where
    G: Handler<GetArgs>,
    P: Handler<PutArgs>,
    D: Handler<DeleteArgs>,
    GetArgs: FromRequest + 'static,
    PutArgs: FromRequest + 'static,
    DeleteArgs: FromRequest + 'static,
    G::Output: Responder + 'static,
    P::Output: Responder + 'static,
    D::Output: Responder + 'static,
{
    routing::resource(path, "GET, HEAD, PUT, DELETE, OPTIONS")
        .route(web::get().to(get.clone()))
        .route(web::head().to(get))
        .route(web::put().to(put))
        .route(web::delete().to(delete))
}

/// The answer to a look-up: what is stored, in the fields that a PUT takes.
fn stored(data: impl Serialize) -> Result<HttpResponse, ApiError> {
    Ok(super::success(envelope::success("What is stored.", data)?))
}

/// Makes a change, tells the audit trail, and answers what the change did.
async fn change<E: 'static>(
    audit: Audit,
    work: impl Future<Output = Result<Tally, E>> + 'static,
) -> Result<HttpResponse, ApiError>
where
    ApiError: From<E>,
{
    let audited = async move {
        let done = work.await.map_err(ApiError::from);
        audit.concluded(&done);
        done
    };
    changed(deadline::change::<Tally, ApiError>(audited).await?)
}

/// The answer to a change: what it did.
fn changed(tally: Tally) -> Result<HttpResponse, ApiError> {
    let message = if tally == Tally::NOTHING { "Nothing was different." } else { "The change is visible." };
    Ok(super::success(envelope::success(message, wire::Changes::from(tally))?))
}
