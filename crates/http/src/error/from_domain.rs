//! Converts the errors of use cases and ports.

use super::ApiError;
use companion_domain::{
    model::FieldError,
    port::{
        ApplyError, ChangeSettingsError, ConfirmSettingsError, IdentityError, IdentityErrorKind, StoreError,
        StoreErrorKind,
    },
    settings::{PartKey, Rejected},
    usecase::{AuthenticateError, ChangeAsUserError, ListGuildsError, SignInError},
};

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error.kind {
            // A conflict that a use case could not resolve means that the store is too busy.
            StoreErrorKind::Conflict | StoreErrorKind::Unavailable => Self::StorageUnavailable(error.into()),
            // Retrying does not help, and the session stays valid.
            StoreErrorKind::Corrupt => Self::Internal(error.into()),
        }
    }
}

impl From<ApplyError> for ApiError {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::UnknownGuild(_) => Self::GuildUnknown,
            ApplyError::KeptElsewhere(kind) => Self::KeptElsewhere(kind.event()),
            ApplyError::TooManyNotices => {
                let message = format!("{error}: end or remove one first, or set an end");
                Self::InputInvalid(vec![FieldError::new("until", message)])
            }
            ApplyError::NotWritableAlone(_) => Self::Internal(error.into()),
            ApplyError::Store(error) => error.into(),
        }
    }
}

impl From<Rejected> for ApiError {
    fn from(rejected: Rejected) -> Self {
        match rejected {
            Rejected::NotListed(_) => Self::NotFound,
            Rejected::ListTooOld => Self::SignInStale,
            Rejected::NotEditable(sections) => Self::PermissionMissing(
                sections.iter().map(|key: &PartKey| key.as_str().to_owned()).collect(),
            ),
            Rejected::Outdated(revision) => Self::SettingsChanged(revision),
            Rejected::Invalid(errors) => Self::InputInvalid(errors),
        }
    }
}

impl From<ChangeSettingsError> for ApiError {
    fn from(error: ChangeSettingsError) -> Self {
        match error {
            ChangeSettingsError::Rejected(rejected) => rejected.into(),
            ChangeSettingsError::Store(error) => error.into(),
        }
    }
}

impl From<ChangeAsUserError> for ApiError {
    fn from(error: ChangeAsUserError) -> Self {
        match error {
            ChangeAsUserError::List(error) => error.into(),
            ChangeAsUserError::SignInStale => Self::SignInStale,
            ChangeAsUserError::Rejected(rejected) => rejected.into(),
        }
    }
}

impl From<ConfirmSettingsError> for ApiError {
    fn from(error: ConfirmSettingsError) -> Self {
        match error {
            ConfirmSettingsError::AboveCurrent(current) => {
                let message = format!("must be at most {current}, the current revision");
                Self::InputInvalid(vec![FieldError::new("revision", message)])
            }
            ConfirmSettingsError::Store(error) => error.into(),
        }
    }
}

impl From<IdentityError> for ApiError {
    fn from(error: IdentityError) -> Self {
        match error.kind {
            IdentityErrorKind::Limited(wait) => Self::ProviderLimited(wait, error.into()),
            IdentityErrorKind::TimedOut => Self::ProviderTimeout(error.into()),
            // A sign-in maps refused codes and missing scopes to errors of its own. Here they mean that the platform
            // rejects what it issued itself.
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
            AuthenticateError::TokenRefused | AuthenticateError::Expired(_) => Self::TokenInvalid,
            AuthenticateError::Store(error) => error.into(),
        }
    }
}

impl From<ListGuildsError> for ApiError {
    fn from(error: ListGuildsError) -> Self {
        match error {
            ListGuildsError::Blocked(_) => Self::Blocked,
            ListGuildsError::SignedOut(_) | ListGuildsError::WithoutGrant(_) => Self::SignedOut,
            // The client's remedy is the same for every cause: wait and retry.
            ListGuildsError::NoList { retry_after, cause } => Self::ProviderLimited(retry_after, cause),
            ListGuildsError::Store(error) => error.into(),
        }
    }
}
