//! What a change did.

use companion_domain::change::Tally;
use serde::Serialize;
use utoipa::ToSchema;

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
