//! The chat platform as an identity provider.

use super::Cause;
use crate::{
    model::{CodeVerifier, IdpCode, Membership, PlatformTokens, Secret, User, UserId, WebUrl},
    session::UserAgent,
};
use async_trait::async_trait;
use std::{fmt, time::Duration};

/// Asks the platform, in a user's name or in ours. Every call comes back within a deadline of its own.
///
/// Calls name the client or the user that caused them, so that an adapter can hold what the platform refuses against
/// whoever caused it before anyone else has to pay. It changes nothing about what is asked.
#[async_trait]
pub trait IdentityProvider: Send + Sync {
    /// Whether an exchange for a client of this standing could go out now; otherwise the error that it would end with.
    /// Asking is cheap and reserves nothing, so that those who would be turned away are, before anything is written. A
    /// yes is no promise.
    fn ready_to_exchange(&self, standing: Standing) -> Result<(), IdentityError> {
        let _ = standing;
        Ok(())
    }

    /// Turns a code into tokens. It is sent at most once: a code is spent by the attempt. Tokens that the user has
    /// not granted everything of [`NEEDED_SCOPES`] are dropped and not revoked: nobody knows yet whose they are, and
    /// revoking one ends the user's whole authorisation.
    async fn exchange(&self, exchange: &CodeExchange) -> Result<PlatformTokens, IdentityError>;

    /// The user behind an access token, which this client's code has just become.
    async fn user(&self, client: ClientMark, access: &Secret) -> Result<User, IdentityError>;

    /// All guilds of this user, who is the one behind the access token, each once, in any order.
    async fn guilds(&self, user: UserId, access: &Secret) -> Result<Vec<Membership>, IdentityError>;

    /// Both of the above, for a sign-in that needs the user and wants the list. They are asked for at the same time where
    /// the adapter can do that, so that a sign-in waits for the slower of them and not for both. A user who cannot be told
    /// is the error, and then nobody waits for the list; a list that fails leaves the user. A sign-in has no time for two
    /// calls that take as long as they may, so an adapter of a platform that can be slow has one deadline for both.
    async fn user_with_guilds(
        &self,
        client: ClientMark,
        access: &Secret,
    ) -> Result<UserWithGuilds, IdentityError> {
        let user = self.user(client, access).await?;
        let guilds = self.guilds(user.id, access).await;
        Ok(UserWithGuilds { user, guilds })
    }

    /// Turns this user's refresh token into new tokens. The old ones may be dead from then on, whatever comes back.
    async fn refresh(&self, user: UserId, refresh: &Secret) -> Result<PlatformTokens, IdentityError>;

    /// Ends the whole authorisation that the token belongs to. A token that is dead already is fine.
    async fn revoke(&self, token: &Secret) -> Result<(), IdentityError>;
}

/// A user who is signing in, and what came of asking for their guilds.
#[derive(Debug)]
pub struct UserWithGuilds {
    /// The user behind the access token.
    pub user: User,
    /// All of their guilds, each once, in any order.
    pub guilds: Result<Vec<Membership>, IdentityError>,
}

/// What a user has to grant for a sign-in: who they are, and which guilds they are in.
pub const NEEDED_SCOPES: [&str; 2] = ["identify", "guilds"];

/// Whether these are enough for a sign-in. Their order does not matter, and more of them do no harm.
pub fn suffices<'a>(granted: impl IntoIterator<Item = &'a str>) -> bool {
    let granted: Vec<_> = granted.into_iter().collect();
    NEEDED_SCOPES.iter().all(|needed| granted.contains(needed))
}

/// A code, and everything that goes with it.
#[derive(Debug, Clone)]
pub struct CodeExchange {
    /// The platform's code.
    pub code: IdpCode,
    /// The PKCE verifier, where the sign-in was begun with one.
    pub verifier: Option<CodeVerifier>,
    /// Where the platform sent the user back to. It comes from the configuration, never from the caller.
    pub redirect: WebUrl,
    /// Who sent it.
    pub client: ClientMark,
    /// What is known of them.
    pub standing: Standing,
    /// What their device calls itself. It is not for the platform, but for the session that comes of it.
    pub user_agent: Option<UserAgent>,
}

impl CodeExchange {
    /// A code without a verifier, of a client of whom nothing is known.
    #[must_use]
    pub fn new(code: IdpCode, redirect: WebUrl) -> Self {
        let (client, standing) = (ClientMark::default(), Standing::Good);
        Self { code, verifier: None, redirect, client, standing, user_agent: None }
    }
}

/// A stand-in for where a request comes from: the same for the same client, and telling nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ClientMark(pub u64);

/// What is known of a client that sends codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Nothing speaks against it.
    Good,
    /// Its codes were refused of late, or it sends more at once than anyone who is not known yet needs to.
    Doubtful,
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
    /// The code was good, but the user did not grant what a sign-in needs.
    ScopeMissing,
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
            Self::BadGrant | Self::ScopeMissing | Self::TokenRefused | Self::TimedOut | Self::Failed => false,
        }
    }
}

impl fmt::Display for IdentityErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadGrant => f.write_str("the grant was refused"),
            Self::ScopeMissing => f.write_str("the user did not grant what is needed"),
            Self::TokenRefused => f.write_str("the access token was refused"),
            Self::Limited(wait) => write!(f, "limited for {} s", wait.as_secs_f64()),
            Self::Unreachable => f.write_str("unreachable"),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::Failed => f.write_str("an error, or an answer that is not valid"),
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
        let kinds = [
            K::BadGrant,
            K::ScopeMissing,
            K::TokenRefused,
            K::Limited(wait),
            K::Unreachable,
            K::TimedOut,
            K::Failed,
        ];
        let said = kinds.map(|kind| (kind.nothing_sent(), IdentityError::new(kind, "cause").to_string()));
        let expected = [
            (false, "identity provider: the grant was refused"),
            (false, "identity provider: the user did not grant what is needed"),
            (false, "identity provider: the access token was refused"),
            (true, "identity provider: limited for 1.5 s"),
            (true, "identity provider: unreachable"),
            (false, "identity provider: no answer in time"),
            (false, "identity provider: an error, or an answer that is not valid"),
        ];
        assert_eq!(said, expected.map(|(sent, text)| (sent, text.to_owned())));
    }

    #[test]
    fn scopes_are_a_set() {
        for granted in ["identify guilds", "guilds identify", "email guilds  connections identify"] {
            assert!(suffices(granted.split(' ')), "{granted}");
        }
        for granted in
            ["", "identify", "guilds", "identify,guilds", "identify guilds.join", "IDENTIFY guilds"]
        {
            assert!(!suffices(granted.split(' ')), "{granted}");
        }
    }
}
