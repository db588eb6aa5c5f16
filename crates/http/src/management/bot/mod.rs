//! What the bot feeds, one file for each part of its world.

pub(super) mod clusters;
mod kept;
mod resource;
mod stream;
pub(super) mod sync;
pub(super) mod team;
pub(super) mod why;

pub(super) use self::resource::resource;

use super::Shared;
use crate::{audit::Audit, deadline, envelope, error::ApiError, wire};
use actix_web::HttpResponse;
use companion_domain::change::Tally;
use std::future::Future;

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
