//! A session as the operator sees it: never its token.

use companion_domain::{model::Timestamp, session::Session};
use companion_http::wire::Snowflake;
use serde::Serialize;
use utoipa::ToSchema;

/// A live session.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LiveSession {
    /// The session's id: the SHA-256 of its token.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    id: String,
    user: Snowflake,
    /// When it was made, in seconds since 1970.
    #[schema(examples(1_700_000_000))]
    created: i64,
    /// When it was last used, as far as that has been written back, in seconds since 1970.
    #[schema(examples(1_700_000_000))]
    seen: i64,
    /// When it ends if it is not used again, in seconds since 1970.
    #[schema(examples(1_700_000_000))]
    ends: i64,
}

impl LiveSession {
    pub(crate) fn new(session: &Session, ends: Timestamp) -> Self {
        Self {
            id: session.id.to_string(),
            user: session.user.into(),
            created: session.created_at.seconds(),
            seen: session.last_seen_at.seconds(),
            ends: ends.seconds(),
        }
    }
}
