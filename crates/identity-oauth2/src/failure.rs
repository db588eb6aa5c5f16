//! Errors of calls, and the principals that refusals are charged to.

use companion_domain::{
    model::UserId,
    port::{Cause, ClientMark, IdentityError, IdentityErrorKind},
};
use http::StatusCode;
use std::time::Duration;

/// Returns an error for a call that failed. The cause must not quote the response.
pub(crate) fn failed(cause: impl Into<Cause>) -> IdentityError {
    IdentityError::new(IdentityErrorKind::Failed, cause)
}

/// Returns an error for a call that was not sent, or that the platform limited.
pub(crate) fn limited(reason: &'static str, wait: Duration) -> IdentityError {
    IdentityError::new(IdentityErrorKind::Limited(wait), reason)
}

pub(crate) fn unexpected(status: StatusCode) -> IdentityError {
    failed(format!("the answer has status {}", status.as_u16()))
}

/// Converts an error of the HTTP client. The URL is removed, because the error may be shown.
pub(crate) fn of_client(error: reqwest::Error) -> IdentityError {
    let kind = if error.is_connect() { IdentityErrorKind::Unreachable } else { IdentityErrorKind::Failed };
    IdentityError::new(kind, error.without_url())
}

/// Converts a JSON error. Only the position is kept, because the parser's message would quote the response.
pub(crate) fn of_json(error: &serde_json::Error) -> IdentityError {
    let what = match error.classify() {
        serde_json::error::Category::Io => "truncated",
        serde_json::error::Category::Syntax => "not JSON",
        serde_json::error::Category::Data => "JSON of another shape",
        serde_json::error::Category::Eof => "incomplete JSON",
    };
    let (line, column) = (error.line(), error.column());
    failed(format!("the answer cannot be read: {what}, line {line}, column {column}"))
}

/// For whom a call is made, as far as known, and so who is charged if the platform refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Principal {
    /// For this service: a refusal concerns all of its calls.
    Ourselves,
    /// For a client that is signing in. The call itself returns who it is.
    Client(ClientMark),
    /// For a client that is signing in. A concurrent call is about to return who it is.
    Arriving(ClientMark),
    /// For a user.
    User(UserId),
}
