//! Writes of the management API: audited, and answered with what changed.

use actix_web::{HttpRequest, HttpResponse};
use companion_domain::change::Tally;
use companion_http::{ApiError, Gate, audit::Audit, deadline, envelope};
use serde::Serialize;
use std::future::Future;
use utoipa::ToSchema;

/// Nothing here is worth keeping.
const CACHE_CONTROL: &str = "no-store";

/// The answer of a success.
pub(crate) fn answer(message: &str, data: impl Serialize) -> Result<HttpResponse, ApiError> {
    envelope::answer(message, data, CACHE_CONTROL)
}

/// Makes a change, tells the audit trail, and answers what the change did.
pub(crate) async fn change<E: 'static>(
    gate: &Gate,
    request: &HttpRequest,
    audit: Audit,
    work: impl Future<Output = Result<Tally, E>> + 'static,
) -> Result<HttpResponse, ApiError>
where
    ApiError: From<E>,
{
    changed(audited(gate, request, audit, work).await?)
}

/// Makes a change and tells the audit trail.
pub(crate) async fn audited<E: 'static>(
    gate: &Gate,
    request: &HttpRequest,
    audit: Audit,
    work: impl Future<Output = Result<Tally, E>> + 'static,
) -> Result<Tally, ApiError>
where
    ApiError: From<E>,
{
    let audited = async move {
        let done = work.await.map_err(ApiError::from);
        audit.concluded(&done);
        done
    };
    deadline::change::<Tally, ApiError>(gate, request, audited).await
}

/// The answer to a change: what it did.
pub(crate) fn changed(tally: Tally) -> Result<HttpResponse, ApiError> {
    let message = if tally == Tally::NOTHING { "Nothing was different." } else { "The change is visible." };
    answer(message, Changes::from(tally))
}

/// How many things a change touched.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Changes {
    /// Things that were not there before.
    #[schema(examples(1))]
    added: u64,
    /// Things that are different now.
    #[schema(examples(0))]
    changed: u64,
    /// Things that are gone.
    #[schema(examples(0))]
    removed: u64,
}

impl From<Tally> for Changes {
    fn from(Tally { added, changed, removed }: Tally) -> Self {
        Self { added, changed, removed }
    }
}
