//! Responses of the management API, and what changed as one.

use actix_web::HttpResponse;
use companion_domain::change::Tally;
use companion_http::{ApiError, envelope};
use serde::Serialize;
use utoipa::ToSchema;

/// Responses of this API are never cached.
const CACHE_CONTROL: &str = "no-store";

/// Returns a success response.
pub(crate) fn answer(message: &str, data: impl Serialize) -> Result<HttpResponse, ApiError> {
    envelope::answer(message, data, CACHE_CONTROL)
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

impl Changes {
    /// Responds with the tally of a change.
    pub(crate) fn answer(tally: Tally) -> Result<HttpResponse, ApiError> {
        let message = if tally == Tally::NOTHING { "Nothing has changed." } else { "The change is visible." };
        answer(message, Self::from(tally))
    }
}
