//! Writes of the management API: audited, and answered with what changed.

use actix_web::{HttpRequest, HttpResponse};
use companion_domain::change::Tally;
use companion_http::{ApiError, ConcurrencyLimiter, audit::Audit, deadline, envelope};
use serde::Serialize;
use std::future::Future;
use utoipa::ToSchema;

/// Responses of this API are never cached.
const CACHE_CONTROL: &str = "no-store";

/// Returns a success response.
pub(crate) fn answer(message: &str, data: impl Serialize) -> Result<HttpResponse, ApiError> {
    envelope::answer(message, data, CACHE_CONTROL)
}

/// Runs and audits a change, and responds with its tally.
pub(crate) async fn change<E: 'static>(
    limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
    audit: Audit,
    work: impl Future<Output = Result<Tally, E>> + 'static,
) -> Result<HttpResponse, ApiError>
where
    ApiError: From<E>,
{
    changed(audited(limiter, request, audit, work).await?)
}

/// Runs and audits a change.
pub(crate) async fn audited<E: 'static>(
    limiter: &ConcurrencyLimiter,
    request: &HttpRequest,
    audit: Audit,
    work: impl Future<Output = Result<Tally, E>> + 'static,
) -> Result<Tally, ApiError>
where
    ApiError: From<E>,
{
    let audited = async move {
        let done = work.await.map_err(ApiError::from);
        audit.concluded(done.as_ref());
        done
    };
    deadline::change::<Tally, ApiError>(limiter, request, audited).await
}

/// Responds with the tally of a change.
pub(crate) fn changed(tally: Tally) -> Result<HttpResponse, ApiError> {
    let message = if tally == Tally::NOTHING { "Nothing has changed." } else { "The change is visible." };
    answer(message, Changes::from(tally))
}

/// Number of records that a change touched.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Changes {
    /// Records added.
    #[schema(examples(1))]
    added: u64,
    /// Records changed.
    #[schema(examples(0))]
    changed: u64,
    /// Records removed.
    #[schema(examples(0))]
    removed: u64,
}

impl From<Tally> for Changes {
    fn from(Tally { added, changed, removed }: Tally) -> Self {
        Self { added, changed, removed }
    }
}
