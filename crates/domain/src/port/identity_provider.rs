//! The chat platform as an identity provider, and what all nodes share about it.

use super::{Cause, StoreError};
use crate::{
    model::{
        CodeFingerprint, CodeVerifier, IdpCode, PlatformGuilds, PlatformTokens, Secret, Timestamp, User,
        UserId, WebUrl,
    },
    session::UserAgent,
};
use async_trait::async_trait;
use std::{error::Error, sync::Arc, time::Duration};

/// Calls the platform, on behalf of a user or of the service itself. Every call has a deadline of its own.
///
/// A call names the client or user that caused it. With that an adapter can charge the platform's rejections to the
/// client that caused them, before other clients are limited. It does not change the request.
#[async_trait]
pub trait IdentityProvider: Send + Sync {
    /// Returns the error that an exchange for a client of this standing would end with now, or `Ok`. The check is
    /// cheap and reserves nothing, so that a request that would be rejected is rejected before anything is written.
    /// `Ok` is no guarantee.
    fn ready_to_exchange(&self, standing: Reputation) -> Result<(), IdentityError> {
        let _ = standing;
        Ok(())
    }

    /// Exchanges a code for tokens. The code is sent at most once, since the attempt spends it. Tokens for which the
    /// user has not granted all of [`NEEDED_SCOPES`] are dropped and not revoked: their user is not known yet, and
    /// revoking one ends the user's whole authorisation.
    async fn exchange(&self, exchange: &CodeExchange) -> Result<PlatformTokens, IdentityError>;

    /// Returns the user of an access token, which this client has just obtained.
    async fn user(&self, client: ClientMark, access: &Secret) -> Result<User, IdentityError>;

    /// Returns all guilds of this user, to whom the access token belongs, with their names.
    async fn guilds(&self, user: UserId, access: &Secret) -> Result<PlatformGuilds, IdentityError>;

    /// Calls [`user`](Self::user) and [`guilds`](Self::guilds) for a sign-in. An adapter that can sends both requests
    /// concurrently, so that the sign-in waits for the slower one only. Without the user the call fails and does not
    /// wait for the list; a failed list still returns the user. A sign-in has no time for two calls that take their
    /// full deadline, so an adapter of a slow platform has one deadline for both.
    async fn user_with_guilds(
        &self,
        client: ClientMark,
        access: &Secret,
    ) -> Result<UserWithGuilds, IdentityError> {
        let user = self.user(client, access).await?;
        let guilds = self.guilds(user.id, access).await;
        Ok(UserWithGuilds { user, guilds })
    }

    /// Exchanges this user's refresh token for new tokens. The old ones may be invalid afterwards, whatever the outcome.
    async fn refresh(&self, user: UserId, refresh: &Secret) -> Result<PlatformTokens, IdentityError>;

    /// Ends the whole authorisation that the token belongs to. Succeeds if the token is already invalid.
    async fn revoke(&self, token: &Secret) -> Result<(), IdentityError>;
}

/// A user who is signing in, and the outcome of the request for their guilds.
#[derive(Debug)]
pub struct UserWithGuilds {
    /// The user of the access token.
    pub user: User,
    /// All of their guilds.
    pub guilds: Result<PlatformGuilds, IdentityError>,
}

/// The scopes that a sign-in needs: identity and guilds.
pub const NEEDED_SCOPES: [&str; 2] = ["identify", "guilds"];

/// Returns whether these scopes suffice for a sign-in. Their order does not matter, and more are allowed.
pub fn has_needed_scopes<'a>(granted: impl IntoIterator<Item = &'a str>) -> bool {
    let granted: Vec<_> = granted.into_iter().collect();
    NEEDED_SCOPES.iter().all(|needed| granted.contains(needed))
}

/// A code, and everything that is sent or stored with it.
#[derive(Debug, Clone)]
pub struct CodeExchange {
    /// The platform's code.
    pub code: IdpCode,
    /// The PKCE verifier, if the sign-in was begun with one.
    pub verifier: Option<CodeVerifier>,
    /// The redirect URI of the sign-in. It comes from the configuration, never from the caller.
    pub redirect: WebUrl,
    /// The client that sent the code.
    pub client: ClientMark,
    /// The standing of that client.
    pub standing: Reputation,
    /// The client's user agent. It is stored with the session, not sent to the platform.
    pub user_agent: Option<UserAgent>,
}

impl CodeExchange {
    /// Creates an exchange without a verifier, for an unknown client.
    #[must_use]
    pub fn new(code: IdpCode, redirect: WebUrl) -> Self {
        let (client, standing) = (ClientMark::default(), Reputation::Good);
        Self { code, verifier: None, redirect, client, standing, user_agent: None }
    }
}

/// A pseudonym of a client: equal for requests of the same client, and revealing nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ClientMark(pub u64);

/// The reputation of a client that sends codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reputation {
    /// No objection is known.
    Good,
    /// Its codes were rejected recently, or it sends more of them at once than an unknown client needs to.
    Doubtful,
}

/// An error of a call to the platform. A clone shares the cause.
#[derive(Debug, Clone, thiserror::Error)]
#[error("identity provider: {kind}")]
pub struct IdentityError {
    /// The kind of failure.
    pub kind: IdentityErrorKind,
    /// The adapter's own error. Never contains a token or a code.
    #[source]
    pub cause: Arc<dyn Error + Send + Sync>,
}

impl IdentityError {
    /// Creates an error of this kind.
    pub fn new(kind: IdentityErrorKind, cause: impl Into<Cause>) -> Self {
        Self { kind, cause: cause.into().into() }
    }
}

/// The kinds of failure that callers handle differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdentityErrorKind {
    /// The code or refresh token is unknown, expired or used.
    #[error("the grant was refused")]
    BadGrant,
    /// The code is valid, but the user did not grant the needed scopes.
    #[error("the user did not grant what is needed")]
    ScopeMissing,
    /// The access token is no longer accepted.
    #[error("the access token was refused")]
    TokenRefused,
    /// Rate-limited: the request was not sent or not processed. Retry after this long.
    #[error("limited for {} s", .0.as_secs_f64())]
    Limited(Duration),
    /// The platform could not be reached; nothing was sent.
    #[error("unreachable")]
    Unreachable,
    /// Timed out.
    #[error("no answer in time")]
    TimedOut,
    /// The response was an error or invalid, or the service's own credentials were rejected.
    #[error("an error, or an answer that is not valid")]
    Failed,
}

impl IdentityErrorKind {
    /// Returns how long to wait before the next call, if the platform demands it.
    #[must_use]
    pub const fn retry_after(self) -> Option<Duration> {
        if let Self::Limited(wait) = self { Some(wait) } else { None }
    }

    /// Returns whether the platform has certainly not acted on the request.
    #[must_use]
    pub const fn is_unprocessed(self) -> bool {
        matches!(self, Self::Limited(_) | Self::Unreachable)
    }
}

/// Remembers used sign-in codes, so that each is exchanged once over all nodes.
#[async_trait]
pub trait SpentCodes: Send + Sync {
    /// Marks a code as used until `until`. Returns `true` for exactly one of any number of concurrent callers, the
    /// first. A rejected call changes nothing.
    ///
    /// A mark has expired when `now` reaches its end, and then counts as absent. So does a mark that ends after the
    /// [horizon](Timestamp::horizon) of `until`; at the horizon itself it counts. Every caller marks for the same
    /// length of time, so a mark that ends so late was made before a clock was set back.
    ///
    /// The store may drop marks that count as absent for the current caller. Marks last far longer than the platform
    /// accepts a code, so a caller whose clock is minutes ahead does no harm. There is no separate cleanup: a store
    /// that must not grow without bound drops some of them here.
    async fn spend(
        &self,
        code: &CodeFingerprint,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Removes the mark of a code that was not sent to the platform after all. A mark has no owner: the caller that
    /// made it calls this seconds later. Does nothing if there is no mark.
    async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError>;
}

/// A request of the platform to pause all calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlatformPause {
    /// When it was received, by the clock of the receiving node.
    pub said_at: Timestamp,
    /// How long to pause.
    pub wait: Duration,
}

impl PlatformPause {
    /// Returns the remaining time, or `None` if the pause is over. A pause so far ahead that the clock must have been
    /// set back since is over too.
    #[must_use]
    pub fn left(&self, now: Timestamp) -> Option<Duration> {
        self.wait.checked_sub(now.age_of(self.said_at)).filter(|left| !left.is_zero())
    }
}

/// Remembers the platform's pause over all nodes, so that other nodes need not find out by calling it.
#[async_trait]
pub trait PlatformPauses: Send + Sync {
    /// Remembers a pause that begins now. Of this one and the stored one, the one with more time remaining is kept.
    async fn note(&self, pause: PlatformPause) -> Result<(), StoreError>;

    /// Returns the stored pause, over or not.
    async fn current(&self) -> Result<Option<PlatformPause>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_which_failures_leave_a_code_unused() {
        use IdentityErrorKind as K;
        for (kind, is_unprocessed, text) in [
            (K::BadGrant, false, "the grant was refused"),
            (K::ScopeMissing, false, "the user did not grant what is needed"),
            (K::TokenRefused, false, "the access token was refused"),
            (K::Limited(Duration::from_millis(1500)), true, "limited for 1.5 s"),
            (K::Unreachable, true, "unreachable"),
            (K::TimedOut, false, "no answer in time"),
            (K::Failed, false, "an error, or an answer that is not valid"),
        ] {
            assert_eq!(kind.is_unprocessed(), is_unprocessed, "{text}");
            let shown = IdentityError::new(kind, "cause").to_string();
            assert_eq!(shown, format!("identity provider: {text}"));
        }
    }

    #[test]
    fn scopes_are_compared_as_a_set() {
        for granted in ["identify guilds", "guilds identify", "email guilds  connections identify"] {
            assert!(has_needed_scopes(granted.split(' ')), "{granted}");
        }
        for granted in
            ["", "identify", "guilds", "identify,guilds", "identify guilds.join", "IDENTIFY guilds"]
        {
            assert!(!has_needed_scopes(granted.split(' ')), "{granted}");
        }
    }

    #[test]
    fn a_pause_ends_in_time_or_when_the_clock_is_set_back() {
        let second = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let pause = PlatformPause { said_at: second(1000), wait: Duration::from_secs(10) };
        for (now, left) in
            [(1000, Some(10)), (1004, Some(6)), (1010, None), (5000, None), (900, Some(10)), (699, None)]
        {
            assert_eq!(pause.left(second(now)), left.map(Duration::from_secs), "{now}");
        }
    }
}
