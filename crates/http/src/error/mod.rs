//! All errors of the APIs, and the one table of their status, word and message.

mod from_domain;

use crate::repeated::{LineKind, Repeats};
use actix_web::{HttpResponse, ResponseError, http::StatusCode};
use companion_domain::{model::FieldError, port::Cause};
use std::{borrow::Cow, error::Error, sync::Arc, time::Duration};

/// Minimum `Retry-After`.
const MIN_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Why a request failed. Handlers return it; the edge renders it.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.problem().word)]
pub enum ApiError {
    /// The path does not exist.
    NotFound,
    /// The path does not support the method; the value lists those it supports.
    MethodNotAllowed(&'static str),
    /// A page of another origin called a sign-in endpoint.
    OriginRefused,
    /// A header was sent twice or is malformed.
    HeaderInvalid {
        /// Name of the header.
        header: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// The body does not match its headers or was cut off.
    BodyBroken,
    /// The body did not arrive in time.
    BodyTimeout,
    /// The body exceeds the limit.
    BodyTooLarge,
    /// `Idp-Code` is missing or empty.
    IdpCodeMissing,
    /// The code is malformed, unknown, expired or used.
    IdpCodeInvalid,
    /// The user did not grant a required scope.
    IdpScopeMissing,
    /// `Token` is missing or empty.
    TokenMissing,
    /// The token is malformed, unknown, expired or revoked.
    TokenInvalid,
    /// The platform revoked the authorisation, which ended the session.
    SignedOut,
    /// The user is blocked.
    Blocked,
    /// The client exceeded its rate limit.
    RateLimited(Duration),
    /// A bug, or corrupt data.
    Internal(#[source] Cause),
    /// The operator has not configured sign-in.
    SignInNotConfigured,
    /// The provider is unreachable, failed, or rejected our credentials.
    ProviderFailed(#[source] Cause),
    /// The provider rate-limits us, or our own limit is reached.
    ProviderLimited(Duration, #[source] Cause),
    /// The provider did not answer in time.
    ProviderTimeout(#[source] Cause),
    /// The store is unavailable.
    StorageUnavailable(#[source] Cause),
    /// Too many requests or sign-ins are in flight.
    Overloaded(Duration),
    /// The service is not ready for traffic; the text is the reason.
    NotReady(String),
    /// The management key is missing.
    KeyMissing,
    /// The management key is unknown.
    KeyInvalid,
    /// The management key lacks a scope.
    KeyScopeMissing {
        /// Name of the key.
        key: String,
        /// The required scope.
        scope: &'static str,
    },
    /// The input is invalid; each error names its field.
    InputInvalid(Vec<FieldError>),
    /// The guild is unknown: the bot has not reported it.
    GuildUnknown,
    /// No record has this id.
    NotReported,
    /// Records of this kind are kept outside of the store, so they cannot be written.
    KeptElsewhere(&'static str),
    /// The settings have another revision than the caller expects: this one.
    SettingsChanged(u64),
    /// A change of settings needs `If-Match`.
    PreconditionRequired,
    /// The user may not edit these sections of the settings.
    PermissionMissing(Vec<String>),
    /// The user's rights cannot be confirmed without a newer sign-in.
    SignInStale,
}

/// How an error is shown to the caller.
pub struct Problem {
    /// The status, also the `code` of the envelope.
    pub status: StatusCode,
    /// The error word, for programs.
    pub word: &'static str,
    /// The message, for people.
    pub message: Cow<'static, str>,
    /// How long to wait before retrying, if retrying helps.
    pub retry_after: Option<Duration>,
}

impl ApiError {
    /// Returns the error of a projection that is not loaded yet.
    pub(crate) fn not_loaded() -> Self {
        Self::StorageUnavailable("the public data is not loaded yet".into())
    }

    /// The table: status, word and message of every error.
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
            Self::SettingsChanged(revision) => (
                412,
                "settings_changed",
                format!(
                    "The settings have revision {revision} by now, and nothing changed. Read them again."
                )
                .into(),
            ),
            Self::PreconditionRequired => (
                428,
                "precondition_required",
                "Send the revision that the change is based on in the header If-Match, in quotes.".into(),
            ),
            Self::PermissionMissing(sections) => (
                403,
                "permission_missing",
                format!("You may not edit {} in this guild; nothing changed.", sections.join(", ")).into(),
            ),
            Self::SignInStale => (
                401,
                "sign_in_stale",
                "Your rights cannot be confirmed: the sign-in is older than an hour. Sign in again.".into(),
            ),
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry_after = match self {
            Self::RateLimited(wait) | Self::ProviderLimited(wait, _) | Self::Overloaded(wait) => {
                Some((*wait).max(MIN_RETRY_AFTER))
            }
            Self::StorageUnavailable(_) | Self::NotReady(_) => Some(MIN_RETRY_AFTER),
            _ => None,
        };
        Problem { status, word, message, retry_after }
    }

    /// Returns the errors of [`Self::InputInvalid`].
    pub(crate) fn errors(&self) -> Option<&[FieldError]> {
        if let Self::InputInvalid(errors) = self { Some(errors) } else { None }
    }

    /// Logs server errors, which operators need to know about.
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

/// Failed requests with the same cause.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct FailureKind {
    code: u16,
    word: &'static str,
    cause: Option<String>,
}

impl LineKind for FailureKind {
    /// High enough that a bug is not hidden by another one or by an outage. Causes can differ without bound.
    const MAX_KINDS: usize = 100;

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

/// Returns the chain of causes, joined with colons, the nearest first.
fn chain(error: &ApiError) -> Option<String> {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    let said: Vec<_> = causes.map(ToString::to_string).collect();
    (!said.is_empty()).then(|| said.join(": "))
}

/// A placeholder. The edge, which knows the request id, renders the envelope.
impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.problem().status
    }

    fn error_response(&self) -> HttpResponse {
        HttpResponse::new(self.status_code())
    }
}
