//! The chat platform as an identity provider.

use super::Cause;
use crate::model::{CodeVerifier, IdpCode, Membership, PlatformTokens, Secret, User, WebUrl};
use async_trait::async_trait;
use std::{fmt, time::Duration};

/// Asks the platform, in a user's name or in ours. Every call comes back within a deadline of its own.
#[async_trait]
pub trait IdentityProvider: Send + Sync {
    /// Turns a code into tokens. It is sent at most once: a code is spent by the attempt.
    async fn exchange(
        &self,
        code: &IdpCode,
        verifier: Option<&CodeVerifier>,
        redirect: &WebUrl,
    ) -> Result<PlatformTokens, IdentityError>;

    /// The user behind an access token.
    async fn user(&self, access: &Secret) -> Result<User, IdentityError>;

    /// All guilds of the user behind an access token, each once.
    async fn guilds(&self, access: &Secret) -> Result<Vec<Membership>, IdentityError>;

    /// Turns a refresh token into new tokens. The old ones may be dead from then on, whatever comes back.
    async fn refresh(&self, refresh: &Secret) -> Result<PlatformTokens, IdentityError>;

    /// Ends the whole authorisation that the token belongs to. A token that is dead already is fine.
    async fn revoke(&self, token: &Secret) -> Result<(), IdentityError>;
}

/// Why the platform did not give what was asked.
#[derive(Debug, thiserror::Error)]
#[error("identity provider: {kind}")]
pub struct IdentityError {
    /// What kind of failure it was.
    pub kind: IdentityErrorKind,
    /// What the adapter knows about it. Never a token or a code.
    #[source]
    pub cause: Cause,
}

impl IdentityError {
    /// A failure of this kind.
    pub fn new(kind: IdentityErrorKind, cause: impl Into<Cause>) -> Self {
        Self { kind, cause: cause.into() }
    }
}

/// The kinds of failure that callers treat differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityErrorKind {
    /// The code or refresh token is unknown, expired or used.
    BadGrant,
    /// The access token is no longer accepted.
    TokenRefused,
    /// Nothing was asked or answered, because too much was asked before. Ask again after this long.
    Limited(Duration),
    /// The platform could not be reached; nothing was sent.
    Unreachable,
    /// No answer came in time.
    TimedOut,
    /// The answer was an error or made no sense, or our own credentials were refused.
    Failed,
}

impl IdentityErrorKind {
    /// Whether the platform certainly never saw the request.
    #[must_use]
    pub const fn nothing_sent(self) -> bool {
        match self {
            Self::Limited(_) | Self::Unreachable => true,
            Self::BadGrant | Self::TokenRefused | Self::TimedOut | Self::Failed => false,
        }
    }
}

impl fmt::Display for IdentityErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadGrant => f.write_str("the grant was refused"),
            Self::TokenRefused => f.write_str("the access token was refused"),
            Self::Limited(wait) => write!(f, "limited for {} s", wait.as_secs_f64()),
            Self::Unreachable => f.write_str("unreachable"),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::Failed => f.write_str("an answer that makes no sense, or an error"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_comes_back_to_life_only_when_it_was_certainly_not_sent() {
        use IdentityErrorKind as K;
        let wait = Duration::from_millis(1500);
        let said = [K::BadGrant, K::TokenRefused, K::Limited(wait), K::Unreachable, K::TimedOut, K::Failed]
            .map(|kind| (kind.nothing_sent(), IdentityError::new(kind, "cause").to_string()));
        let expected = [
            (false, "identity provider: the grant was refused"),
            (false, "identity provider: the access token was refused"),
            (true, "identity provider: limited for 1.5 s"),
            (true, "identity provider: unreachable"),
            (false, "identity provider: no answer in time"),
            (false, "identity provider: an answer that makes no sense, or an error"),
        ];
        assert_eq!(said, expected.map(|(sent, text)| (sent, text.to_owned())));
    }
}
