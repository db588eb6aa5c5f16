//! What goes wrong, in words that give nothing away: no URL, no token, nothing that the platform wrote.

use companion_domain::port::{IdentityError, IdentityErrorKind};
use std::time::Duration;

/// What went wrong with a call, or why there was none.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("no connection")]
    NoConnection(#[source] reqwest::Error),
    #[error("the call took too long")]
    Late,
    #[error("the connection broke")]
    Broken(#[source] reqwest::Error),
    #[error("the request cannot be built")]
    Unwritable,
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the answer is compressed, which was not asked for")]
    Compressed,
    #[error("the answer has status {0}")]
    Status(u16),
    #[error("the answer cannot be read: {what}, line {line}, column {column}")]
    Unreadable { what: &'static str, line: usize, column: usize },
    #[error("the answer is not valid: {0}")]
    Nonsense(&'static str),
    #[error("the platform refused the request: {0}")]
    Refused(&'static str),
    #[error("the platform refused the code or the refresh token")]
    BadGrant,
    #[error("the user did not grant the scopes that are needed")]
    ScopeMissing,
    #[error("the platform refused the access token")]
    TokenRefused,
    #[error("{reason}")]
    Limited { reason: &'static str, wait: Duration },
}

impl CallError {
    /// A failure of the HTTP client. Its address goes: the error may be shown, and the cause may not name anything.
    pub(crate) fn of_client(error: reqwest::Error) -> Self {
        let error = error.without_url();
        if error.is_connect() { Self::NoConnection(error) } else { Self::Broken(error) }
    }

    /// JSON that could not be read. What the parser says would quote it, so only the place is kept.
    pub(crate) fn of_json(error: &serde_json::Error) -> Self {
        let what = match error.classify() {
            serde_json::error::Category::Io => "it broke off",
            serde_json::error::Category::Syntax => "not JSON",
            serde_json::error::Category::Data => "JSON of another shape",
            serde_json::error::Category::Eof => "JSON without an end",
        };
        Self::Unreadable { what, line: error.line(), column: error.column() }
    }

    const fn kind(&self) -> IdentityErrorKind {
        match self {
            Self::NoConnection(_) => IdentityErrorKind::Unreachable,
            Self::Late => IdentityErrorKind::TimedOut,
            Self::Limited { wait, .. } => IdentityErrorKind::Limited(*wait),
            Self::BadGrant => IdentityErrorKind::BadGrant,
            Self::ScopeMissing => IdentityErrorKind::ScopeMissing,
            Self::TokenRefused => IdentityErrorKind::TokenRefused,
            Self::Broken(_)
            | Self::Unwritable
            | Self::TooLarge(_)
            | Self::Compressed
            | Self::Status(_)
            | Self::Unreadable { .. }
            | Self::Nonsense(_)
            | Self::Refused(_) => IdentityErrorKind::Failed,
        }
    }
}

impl From<CallError> for IdentityError {
    fn from(error: CallError) -> Self {
        Self::new(error.kind(), error)
    }
}
