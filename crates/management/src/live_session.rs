//! A session as shown to the operator, without its token.

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
    /// When it was created, in seconds since 1970.
    #[schema(examples(1_700_000_000))]
    created: i64,
    /// When it was last used, as last written to the store, in seconds since 1970.
    #[schema(examples(1_700_000_000))]
    seen: i64,
    /// When it expires if it is not used again, in seconds since 1970.
    #[schema(examples(1_700_000_000))]
    ends: i64,
    /// The `User-Agent` of its sign-in, at most 256 characters; null if unknown.
    #[schema(
        required,
        max_length = 256,
        examples("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
    )]
    user_agent: Option<String>,
}

impl LiveSession {
    pub(crate) fn new(session: &Session, ends: Timestamp) -> Self {
        Self {
            id: session.id.to_string(),
            user: session.user.into(),
            created: session.created_at.seconds(),
            seen: session.last_seen_at.seconds(),
            ends: ends.seconds(),
            user_agent: session.user_agent.as_ref().map(ToString::to_string),
        }
    }
}
