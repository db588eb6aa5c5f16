//! All errors of the APIs with their messages, and the one table of their status and word.

mod from_domain;

use crate::repeated::{LineKind, Repeats};
use actix_web::{HttpResponse, ResponseError, http::StatusCode};
use companion_domain::{model::FieldError, port::Cause};
use std::{error::Error, sync::Arc, time::Duration};

/// Minimum `Retry-After`.
const MIN_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Why a request failed. Handlers return it; the edge renders it with its `Display` as the message.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The path does not exist.
    #[error("There is nothing at this path.")]
    NotFound,
    /// The path does not support the method; the value lists those it supports.
    #[error("This path answers to {0} only.")]
    MethodNotAllowed(String),
    /// A page of another origin called a sign-in endpoint.
    #[error("Pages from this origin may not sign users in.")]
    OriginRefused,
    /// A header was sent twice or is malformed.
    #[error("The header {header} must be {expected}.")]
    HeaderInvalid {
        /// Name of the header.
        header: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// The body does not match its headers or was cut off.
    #[error("The body did not come as the headers announced it.")]
    BodyBroken,
    /// The body did not arrive in time.
    #[error("No more of the body came in time, and nothing has changed.")]
    BodyTimeout,
    /// The body exceeds the limit.
    #[error("The body is too large.")]
    BodyTooLarge,
    /// `Idp-Code` is missing or empty.
    #[error("Send the identity provider's code in the header Idp-Code.")]
    IdpCodeMissing,
    /// The code is malformed, unknown, expired or used.
    #[error("The code is malformed, unknown, expired or used before. Begin the sign-in again.")]
    IdpCodeInvalid,
    /// The user did not grant a required scope.
    #[error("The sign-in did not grant the scopes identify and guilds. Begin it again with both.")]
    IdpScopeMissing,
    /// `Token` is missing or empty.
    #[error("Send the session token in the header Token.")]
    TokenMissing,
    /// The token is malformed, unknown, expired or revoked.
    #[error("The session token is malformed, unknown, expired or revoked. Sign in again.")]
    TokenInvalid,
    /// The platform revoked the authorisation, which ended the session.
    #[error("The identity provider has ended this authorisation. Sign in again.")]
    SignedOut,
    /// The user is blocked.
    #[error("This user may not use the service.")]
    Blocked,
    /// The client exceeded its rate limit.
    #[error("Too many requests. Try again later.")]
    RateLimited(Duration),
    /// A bug, or corrupt data.
    #[error("Something went wrong here. Quote the request id when you report it.")]
    Internal(#[source] Cause),
    /// The operator has not configured sign-in.
    #[error("Sign-in is not set up here. Only the operator of this service can change that.")]
    SignInNotConfigured,
    /// The provider is unreachable, failed, or rejected our credentials.
    #[error("The identity provider failed or could not be reached.")]
    ProviderFailed(#[source] Cause),
    /// The provider rate-limits us, or our own limit is reached.
    #[error("The identity provider takes no more requests now. Try again later.")]
    ProviderLimited(Duration, #[source] Cause),
    /// The provider did not answer in time.
    #[error("The identity provider did not answer in time.")]
    ProviderTimeout(#[source] Cause),
    /// The store is unavailable.
    #[error("The data cannot be reached now. Try again shortly.")]
    StorageUnavailable(#[source] Cause),
    /// Too many requests or sign-ins are in flight.
    #[error("There is too much to do now. Try again shortly.")]
    Overloaded(Duration),
    /// The service is not ready for traffic; the text is the reason.
    #[error("Not ready for traffic: {0}.")]
    NotReady(String),
    /// The management key is missing.
    #[error("Send the management key in the header Authorization, as Bearer KEY.")]
    KeyMissing,
    /// The management key is unknown.
    #[error("The management key is none of those configured.")]
    KeyInvalid,
    /// The management key lacks a scope.
    #[error("This needs the scope {scope}, which the management key {key} does not have.")]
    KeyScopeMissing {
        /// Name of the key.
        key: String,
        /// The required scope.
        scope: &'static str,
    },
    /// The input is invalid; each error names its field.
    #[error("What was sent is not valid, and changed nothing; see data.fields.")]
    InputInvalid(Vec<FieldError>),
    /// The guild is unknown: the bot has not reported it.
    #[error("This guild is not known. Report the guild first, then its members.")]
    GuildUnknown,
    /// No record has this id.
    #[error("Nothing was reported under this id.")]
    NotReported,
    /// Records of this kind are kept outside of the store, so they cannot be written.
    #[error("This service reads {0} from elsewhere, so it cannot be fed here; nothing changed.")]
    KeptElsewhere(&'static str),
    /// The settings have another revision than the caller expects: this one.
    #[error("The settings have revision {0} by now, and nothing changed. Read them again.")]
    SettingsChanged(u64),
    /// A change of settings needs `If-Match`.
    #[error("Send the revision that the change is based on in the header If-Match, in quotes.")]
    PreconditionRequired,
    /// The user may not edit these sections of the settings.
    #[error("You may not edit {} in this guild; nothing changed.", .0.join(", "))]
    PermissionMissing(Vec<String>),
    /// The user's rights cannot be confirmed without a newer sign-in.
    #[error("Your rights cannot be confirmed: the sign-in is older than an hour. Sign in again.")]
    SignInStale,
}

/// How programs see an error.
#[derive(Debug, Clone, Copy)]
pub struct Problem {
    /// The status, also the `code` of the envelope.
    pub status: StatusCode,
    /// The error word.
    pub word: &'static str,
    /// How long to wait before retrying, if retrying helps.
    pub retry_after: Option<Duration>,
}

impl ApiError {
    /// Returns the error of a projection that is not loaded yet.
    pub(crate) fn not_loaded() -> Self {
        Self::StorageUnavailable("the public data is not loaded yet".into())
    }

    /// The table: status and word of every error.
    #[must_use]
    pub fn problem(&self) -> Problem {
        let (status, word) = match self {
            Self::BodyBroken => (StatusCode::BAD_REQUEST, "body_invalid"),
            Self::HeaderInvalid { .. } => (StatusCode::BAD_REQUEST, "header_invalid"),
            Self::IdpCodeInvalid => (StatusCode::UNAUTHORIZED, "idp_code_invalid"),
            Self::IdpCodeMissing => (StatusCode::UNAUTHORIZED, "idp_code_missing"),
            Self::IdpScopeMissing => (StatusCode::UNAUTHORIZED, "idp_scope_missing"),
            Self::KeyInvalid => (StatusCode::UNAUTHORIZED, "key_invalid"),
            Self::KeyMissing => (StatusCode::UNAUTHORIZED, "key_missing"),
            Self::SignInStale => (StatusCode::UNAUTHORIZED, "sign_in_stale"),
            Self::TokenInvalid | Self::SignedOut => (StatusCode::UNAUTHORIZED, "token_invalid"),
            Self::TokenMissing => (StatusCode::UNAUTHORIZED, "token_missing"),
            Self::Blocked => (StatusCode::FORBIDDEN, "blocked"),
            Self::KeyScopeMissing { .. } => (StatusCode::FORBIDDEN, "key_scope_missing"),
            Self::OriginRefused => (StatusCode::FORBIDDEN, "origin_refused"),
            Self::PermissionMissing(_) => (StatusCode::FORBIDDEN, "permission_missing"),
            Self::NotFound | Self::GuildUnknown | Self::NotReported => (StatusCode::NOT_FOUND, "not_found"),
            Self::MethodNotAllowed(_) => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            Self::BodyTimeout => (StatusCode::REQUEST_TIMEOUT, "body_timeout"),
            Self::KeptElsewhere(_) => (StatusCode::CONFLICT, "kept_elsewhere"),
            Self::SettingsChanged(_) => (StatusCode::PRECONDITION_FAILED, "settings_changed"),
            Self::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
            Self::InputInvalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "input_invalid"),
            Self::PreconditionRequired => (StatusCode::PRECONDITION_REQUIRED, "precondition_required"),
            Self::RateLimited(_) => (StatusCode::TOO_MANY_REQUESTS, "rate_limited"),
            Self::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
            Self::ProviderFailed(_) => (StatusCode::BAD_GATEWAY, "provider_failed"),
            Self::NotReady(_) => (StatusCode::SERVICE_UNAVAILABLE, "not_ready"),
            Self::Overloaded(_) => (StatusCode::SERVICE_UNAVAILABLE, "overloaded"),
            Self::ProviderLimited(..) => (StatusCode::SERVICE_UNAVAILABLE, "provider_limited"),
            Self::SignInNotConfigured => (StatusCode::SERVICE_UNAVAILABLE, "sign_in_not_configured"),
            Self::StorageUnavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "storage_unavailable"),
            Self::ProviderTimeout(_) => (StatusCode::GATEWAY_TIMEOUT, "provider_timeout"),
        };
        let retry_after = match self {
            Self::RateLimited(wait) | Self::ProviderLimited(wait, _) | Self::Overloaded(wait) => {
                Some((*wait).max(MIN_RETRY_AFTER))
            }
            Self::StorageUnavailable(_) | Self::NotReady(_) => Some(MIN_RETRY_AFTER),
            _ => None,
        };
        Problem { status, word, retry_after }
    }

    /// Returns the errors of [`Self::InputInvalid`].
    pub(crate) fn errors(&self) -> Option<&[FieldError]> {
        if let Self::InputInvalid(errors) = self { Some(errors) } else { None }
    }

    /// Logs server errors, which operators need to know about.
    pub(crate) fn log(&self, request_id: &str, failures: &Arc<Repeats<FailureKind>>) {
        let Problem { status, word, .. } = self.problem();
        if status.is_server_error() {
            let kind = FailureKind { code: status.as_u16(), word, cause: chain(self) };
            if failures.is_first(kind.clone()) {
                kind.write(Some(request_id), None, "a request failed");
            }
        }
    }
}

/// Failed requests with the same cause.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FailureKind {
    code: u16,
    word: &'static str,
    cause: Option<String>,
}

impl FailureKind {
    fn write(&self, request_id: Option<&str>, repeated: Option<u64>, what: &str) {
        let Self { code, word, cause } = self;
        match code {
            500 => tracing::error!(request_id, code, error = word, cause, repeated, "{what}"),
            _ => tracing::warn!(request_id, code, error = word, cause, repeated, "{what}"),
        }
    }
}

impl LineKind for FailureKind {
    /// High enough that a bug is not hidden by another one or by an outage. Causes can differ without bound.
    const MAX_KINDS: usize = 100;

    fn coarser(self) -> Self {
        Self { cause: None, ..self }
    }

    fn summarise(&self, repeated: u64) {
        self.write(None, Some(repeated), "more requests failed");
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
