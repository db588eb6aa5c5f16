//! Everything that can go wrong, and the one table that says what callers hear of it.

mod from_domain;

use crate::repeated::{LineKind, Repeats};
use actix_web::{HttpResponse, ResponseError, http::StatusCode};
use companion_domain::{model::Mistake, port::Cause};
use std::{borrow::Cow, error::Error, sync::Arc, time::Duration};

/// Retrying sooner than this helps nobody.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// Why a request was not answered with success. Handlers return it; the edge renders it.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.problem().word)]
pub enum ApiError {
    /// There is no such path.
    NotFound,
    /// The path exists, the method does not; these do.
    MethodNotAllowed(&'static str),
    /// A page from elsewhere tried to sign someone in.
    OriginRefused,
    /// A header was sent twice, or holds what it must not.
    HeaderInvalid {
        /// Its name, for the message.
        header: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// The body did not come as the headers announced it.
    BodyBroken,
    /// No more of the body came.
    BodyTimeout,
    /// The body is larger than anything here needs.
    BodyTooLarge,
    /// `Idp-Code` is missing or empty.
    IdpCodeMissing,
    /// The code is malformed, unknown, expired or used.
    IdpCodeInvalid,
    /// The user did not grant what a sign-in needs.
    IdpScopeMissing,
    /// `Token` is missing or empty.
    TokenMissing,
    /// The token is malformed, unknown, expired or revoked.
    TokenInvalid,
    /// The platform ended what it had granted, and the session with it.
    SignedOut,
    /// The user is blocked.
    Blocked,
    /// Too many requests from one caller.
    RateLimited(Duration),
    /// Our bug, or data that makes no sense.
    Internal(#[source] Cause),
    /// The operator has not configured sign-in.
    SignInNotConfigured,
    /// The provider is unreachable, answered nonsense or an error, or refused our credentials.
    ProviderFailed(#[source] Cause),
    /// The provider limits us, or we hold back.
    ProviderLimited(Duration, #[source] Cause),
    /// The provider did not answer in time.
    ProviderTimeout(#[source] Cause),
    /// Storage cannot serve.
    StorageUnavailable(#[source] Cause),
    /// As many sign-ins are under way as we take on at once.
    Overloaded(Duration),
    /// The service is not ready for traffic; the text says why.
    NotReady(String),
    /// The management key is missing.
    KeyMissing,
    /// The management key is none of those configured.
    KeyInvalid,
    /// The management key is for other things.
    KeyScopeMissing {
        /// What it is called.
        key: String,
        /// What it would need.
        scope: &'static str,
    },
    /// What was sent makes no sense; each mistake by its place.
    InputInvalid(Vec<Mistake>),
    /// A member of a guild that the bot has not reported.
    GuildUnknown,
    /// Nothing was reported under the id that was looked up.
    NotReported,
    /// Things of this kind are kept outside of the store, where feeding them does not reach.
    KeptElsewhere(&'static str),
}

/// What a caller hears of an error.
pub struct Problem {
    /// The status, which is also the `code` of the envelope.
    pub status: StatusCode,
    /// What went wrong, in a word for programs.
    pub word: &'static str,
    /// The same for people.
    pub message: Cow<'static, str>,
    /// How long to wait before trying again, where waiting helps.
    pub retry_after: Option<Duration>,
}

impl ApiError {
    /// A projection was asked for before it could be loaded.
    pub(crate) fn not_loaded() -> Self {
        Self::StorageUnavailable("the public data was not loaded yet".into())
    }

    /// The table: code, word and message of every error.
    #[must_use]
    pub fn problem(&self) -> Problem {
        let (status, word, message): (_, _, Cow<'static, str>) = match self {
            Self::NotFound => (404, "not_found", "There is nothing at this path.".into()),
            Self::MethodNotAllowed(allow) => {
                (405, "method_not_allowed", format!("This path answers to {allow} only.").into())
            }
            Self::OriginRefused => {
                (403, "origin_refused", "Pages from this origin may not sign users in.".into())
            }
            Self::HeaderInvalid { header, expected } => {
                (400, "header_invalid", format!("The header {header} must be {expected}.").into())
            }
            Self::BodyBroken => {
                (400, "body_invalid", "The body did not come as the headers announced it.".into())
            }
            Self::BodyTimeout => {
                (408, "body_timeout", "No more of the body came in time, and nothing has changed.".into())
            }
            Self::BodyTooLarge => (413, "body_too_large", "The body is too large.".into()),
            Self::IdpCodeMissing => {
                (401, "idp_code_missing", "Send the identity provider's code in the header Idp-Code.".into())
            }
            Self::IdpCodeInvalid => (
                401,
                "idp_code_invalid",
                "The code is malformed, unknown, expired or used before. Begin the sign-in again.".into(),
            ),
            Self::IdpScopeMissing => (
                401,
                "idp_scope_missing",
                "The sign-in did not grant the scopes identify and guilds. Begin it again with both.".into(),
            ),
            Self::TokenMissing => {
                (401, "token_missing", "Send the session token in the header Token.".into())
            }
            Self::TokenInvalid => (
                401,
                "token_invalid",
                "The session token is malformed, unknown, expired or revoked. Sign in again.".into(),
            ),
            Self::SignedOut => (
                401,
                "token_invalid",
                "The identity provider has ended this authorisation. Sign in again.".into(),
            ),
            Self::Blocked => (403, "blocked", "This user may not use the service.".into()),
            Self::RateLimited(_) => (429, "rate_limited", "Too many requests. Try again later.".into()),
            Self::Internal(_) => (
                500,
                "internal",
                "Something went wrong here. Quote the request id when you report it.".into(),
            ),
            Self::SignInNotConfigured => (
                503,
                "sign_in_not_configured",
                "Sign-in is not set up here. Only the operator of this service can change that.".into(),
            ),
            Self::ProviderFailed(_) => {
                (502, "provider_failed", "The identity provider failed or could not be reached.".into())
            }
            Self::ProviderLimited(..) => (
                503,
                "provider_limited",
                "The identity provider takes no more requests now. Try again later.".into(),
            ),
            Self::ProviderTimeout(_) => {
                (504, "provider_timeout", "The identity provider did not answer in time.".into())
            }
            Self::StorageUnavailable(_) => {
                (503, "storage_unavailable", "The data cannot be reached now. Try again shortly.".into())
            }
            Self::Overloaded(_) => {
                (503, "overloaded", "There is too much to do now. Try again shortly.".into())
            }
            Self::NotReady(why) => (503, "not_ready", format!("Not ready for traffic: {why}.").into()),
            Self::KeyMissing => (
                401,
                "key_missing",
                "Send the management key in the header Authorization, as Bearer KEY.".into(),
            ),
            Self::KeyInvalid => {
                (401, "key_invalid", "The management key is none of those configured.".into())
            }
            Self::KeyScopeMissing { key, scope } => (
                403,
                "key_scope_missing",
                format!("This needs the scope {scope}, which the management key {key} does not have.").into(),
            ),
            Self::InputInvalid(_) => (
                422,
                "input_invalid",
                "What was sent is not valid, and changed nothing; see data.fields.".into(),
            ),
            Self::GuildUnknown => (
                404,
                "not_found",
                "This guild is not known. Report the guild first, then its members.".into(),
            ),
            Self::NotReported => (404, "not_found", "Nothing was reported under this id.".into()),
            Self::KeptElsewhere(kind) => (
                409,
                "kept_elsewhere",
                format!(
                    "This service reads {kind} from elsewhere, so it cannot be fed here; nothing changed."
                )
                .into(),
            ),
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Problem { status, word, message, retry_after: self.retry_after() }
    }

    /// How long to wait before trying again, where waiting helps.
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited(wait) | Self::ProviderLimited(wait, _) | Self::Overloaded(wait) => {
                Some((*wait).max(SHORTEST_WAIT))
            }
            Self::StorageUnavailable(_) | Self::NotReady(_) => Some(SHORTEST_WAIT),
            Self::NotFound
            | Self::MethodNotAllowed(_)
            | Self::OriginRefused
            | Self::HeaderInvalid { .. }
            | Self::BodyBroken
            | Self::BodyTimeout
            | Self::BodyTooLarge
            | Self::IdpCodeMissing
            | Self::IdpCodeInvalid
            | Self::IdpScopeMissing
            | Self::TokenMissing
            | Self::TokenInvalid
            | Self::SignedOut
            | Self::Blocked
            | Self::Internal(_)
            | Self::SignInNotConfigured
            | Self::ProviderFailed(_)
            | Self::ProviderTimeout(_)
            | Self::KeyMissing
            | Self::KeyInvalid
            | Self::KeyScopeMissing { .. }
            | Self::InputInvalid(_)
            | Self::GuildUnknown
            | Self::NotReported
            | Self::KeptElsewhere(_) => None,
        }
    }

    /// The mistakes in what was sent, where that is the error.
    pub(crate) fn mistakes(&self) -> Option<&[Mistake]> {
        if let Self::InputInvalid(mistakes) = self { Some(mistakes) } else { None }
    }

    /// Tells the log about what operators have to know: what went wrong on our side.
    pub(crate) fn log(&self, request_id: &str, failures: &Arc<Repeats<FailureKind>>) {
        let Problem { status, word, .. } = self.problem();
        if !status.is_server_error() {
            return;
        }
        let (code, cause) = (status.as_u16(), chain(self));
        if failures.is_first(FailureKind { code, word, cause: cause.clone() }) {
            match code {
                500 => tracing::error!(request_id, code, error = word, cause, "a request failed"),
                _ => tracing::warn!(request_id, code, error = word, cause, "a request failed"),
            }
        }
    }
}

/// Requests that failed for the same reason.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct FailureKind {
    code: u16,
    word: &'static str,
    cause: Option<String>,
}

impl LineKind for FailureKind {
    /// A bug is not to be hidden by another one or by an outage; but causes can differ without end.
    const MOST: usize = 100;

    fn coarser(self) -> Self {
        Self { cause: None, ..self }
    }

    fn summarise(&self, repeated: u64) {
        let Self { code, word, cause } = self;
        match code {
            500 => tracing::error!(code, error = word, cause, repeated, "more requests failed"),
            _ => tracing::warn!(code, error = word, cause, repeated, "more requests failed"),
        }
    }
}

/// The causes of an error, the nearest first.
fn chain(error: &ApiError) -> Option<String> {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    let said: Vec<_> = causes.map(ToString::to_string).collect();
    (!said.is_empty()).then(|| said.join(": "))
}

/// Only a stopgap for the edge, which knows the request id and writes the envelope.
impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.problem().status
    }

    fn error_response(&self) -> HttpResponse {
        HttpResponse::new(self.status_code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_names_causes_only_where_there_are_any() {
        assert_eq!(chain(&ApiError::Internal("a torn page".into())).as_deref(), Some("a torn page"));
        assert_eq!(chain(&ApiError::SignInNotConfigured), None);
    }
}
