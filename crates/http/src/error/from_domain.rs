//! What the failures of the use cases mean to callers.

use super::ApiError;
use companion_domain::{
    port::{ApplyError, IdentityError, IdentityErrorKind, StoreError, StoreErrorKind},
    usecase::{AuthenticateError, ListGuildsError, SignInError},
};

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error.kind {
            // A conflict that a use case could not settle is a store too busy to serve.
            StoreErrorKind::Conflict | StoreErrorKind::Unavailable => Self::StorageUnavailable(error.into()),
            // Waiting does not mend it, and nobody is signed out by it.
            StoreErrorKind::Corrupt => Self::Internal(error.into()),
        }
    }
}

impl From<ApplyError> for ApiError {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::UnknownGuild(_) => Self::GuildUnknown,
            ApplyError::KeptElsewhere(kind) => Self::KeptElsewhere(kind.event()),
            ApplyError::NotAlone(_) => Self::Internal(error.into()),
            ApplyError::Store(error) => error.into(),
        }
    }
}

impl From<IdentityError> for ApiError {
    fn from(error: IdentityError) -> Self {
        match error.kind {
            IdentityErrorKind::Limited(wait) => Self::ProviderLimited(wait, error.into()),
            IdentityErrorKind::TimedOut => Self::ProviderTimeout(error.into()),
            // A sign-in turns a refused code and a missing scope into errors of their own; what is left is the platform refusing what it gave.
            IdentityErrorKind::BadGrant
            | IdentityErrorKind::ScopeMissing
            | IdentityErrorKind::TokenRefused
            | IdentityErrorKind::Unreachable
            | IdentityErrorKind::Failed => Self::ProviderFailed(error.into()),
        }
    }
}

impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> Self {
        Self::Internal(error.into())
    }
}

impl From<SignInError> for ApiError {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::CodeRefused => Self::IdpCodeInvalid,
            SignInError::ScopeMissing => Self::IdpScopeMissing,
            SignInError::Blocked(_) => Self::Blocked,
            SignInError::Identity(error) => error.into(),
            SignInError::Store(error) => error.into(),
        }
    }
}

impl From<AuthenticateError> for ApiError {
    fn from(error: AuthenticateError) -> Self {
        match error {
            AuthenticateError::TokenRefused | AuthenticateError::Over(_) => Self::TokenInvalid,
            AuthenticateError::Store(error) => error.into(),
        }
    }
}

impl From<ListGuildsError> for ApiError {
    fn from(error: ListGuildsError) -> Self {
        match error {
            ListGuildsError::Blocked(_) => Self::Blocked,
            ListGuildsError::SignedOut(_) | ListGuildsError::WithoutGrant(_) => Self::SignedOut,
            // Whatever keeps the platform from giving a list, the way out is the same: wait, and ask again.
            ListGuildsError::NoList { retry_after, cause } => Self::ProviderLimited(retry_after, cause),
            ListGuildsError::Store(error) => error.into(),
        }
    }
}
