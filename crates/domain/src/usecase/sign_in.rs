//! Signing a user in: exchanging a code for a session.

use super::{all::Core, refresh::list_to_store, token_box};
use crate::{
    model::{GuildList, PlatformGuilds, PlatformTokens, Profile, Secret, Span, Timestamp, User, UserId},
    port::{CodeExchange, GrantContent, IdentityError, IdentityErrorKind, Ports, StoreError, UserWithGuilds},
    session::{Session, SessionToken, UserAgent},
};
use std::{sync::Arc, time::Duration};

/// The outcome of the request for the list, and when it was sent: an answer that waited for a slower one is no younger
/// than that. `None` if it was not requested.
type RequestedList = Option<(Result<PlatformGuilds, IdentityError>, Timestamp)>;

/// How long a used code is remembered. The platform's codes live a fraction of that.
const SPENT_CODE_TTL: Span = Span::from_seconds(600);

/// How long a sign-in may have taken to request the list with the user. A whole sign-in may take seven seconds and a
/// call to the platform five, so a list requested by then cannot cost the session.
const LIST_REQUEST_DEADLINE: Span = Span::from_seconds(1);

/// The input of a sign-in, which is that of the code exchange.
pub type SignInRequest = CodeExchange;

/// A new session.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// The token, shown this once.
    pub token: SessionToken,
    /// The session as stored.
    pub session: Session,
    /// The user, as the platform reports them.
    pub user: User,
    /// Sessions of the user that were evicted.
    pub displaced: EvictedSessions,
}

/// Sessions evicted by a new one.
#[derive(Debug, Clone, Default)]
pub struct EvictedSessions {
    /// Sessions that had expired already.
    pub over: Vec<Session>,
    /// Sessions evicted because the user exceeded `sessions.per_user`.
    pub capped: Vec<Session>,
}

/// Why there is no new session.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The code is unknown, expired, or was used before.
    #[error("the code was refused")]
    CodeRefused,
    /// The user did not grant the needed scopes.
    #[error("the user did not grant what is needed")]
    ScopeMissing,
    /// The user is blocked.
    #[error("user {0} is blocked")]
    Blocked(UserId),
    /// The platform failed.
    #[error(transparent)]
    Identity(IdentityError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<IdentityError> for SignInError {
    fn from(error: IdentityError) -> Self {
        use IdentityErrorKind as K;
        match error.kind {
            K::BadGrant => Self::CodeRefused,
            K::ScopeMissing => Self::ScopeMissing,
            K::TokenRefused | K::Limited(_) | K::Unreachable | K::TimedOut | K::Failed => {
                Self::Identity(error)
            }
        }
    }
}

/// Signs users in.
pub struct SignIn(pub(super) Arc<Core>);

impl SignIn {
    /// Exchanges a code for a new session. The code is marked as used before it is sent, so a store that cannot write
    /// costs no code. A code that would not be sent is not marked, so that clients cannot cause writes while the
    /// platform rejects us.
    pub async fn sign_in(&self, request: &SignInRequest) -> Result<SignedIn, SignInError> {
        let Ports { identity, clock, stores, .. } = &self.0.ports;
        identity.ready_to_exchange(request.standing)?;
        let fingerprint = request.code.fingerprint();
        let (begun, now) = (clock.monotonic(), clock.now());
        if !stores.spent_codes.spend(&fingerprint, now, now.after(SPENT_CODE_TTL.get())).await? {
            return Err(SignInError::CodeRefused);
        }
        let tokens = match identity.exchange(request).await {
            Ok(tokens) => tokens,
            Err(error) => {
                if error.kind.is_unprocessed() {
                    stores.spent_codes.restore(&fingerprint).await?;
                }
                return Err(error.into());
            }
        };
        // Tokens of an unknown user are not revoked: revoking one token ends all of that user's.
        let (user, list) = self.ask(request, &tokens.access, begun).await.map_err(SignInError::Identity)?;
        let id = user.id;
        let signed_in = self.admit(user, &tokens, list, request.user_agent.clone()).await;
        if signed_in.is_err() {
            self.0.revoke_unused.start_unstored(id, tokens);
        }
        signed_in
    }

    /// Returns the user of the tokens and the first list, requested concurrently. The list can follow later, the
    /// session cannot. So if the platform was slow since `begun`, only the user is requested.
    async fn ask(
        &self,
        request: &SignInRequest,
        access: &Secret,
        begun: Duration,
    ) -> Result<(User, RequestedList), IdentityError> {
        let Ports { identity, clock, .. } = &self.0.ports;
        let requested_at = clock.now();
        if clock.monotonic().saturating_sub(begun) >= LIST_REQUEST_DEADLINE.get() {
            return Ok((identity.user(request.client, access).await?, None));
        }
        let UserWithGuilds { user, guilds } = identity.user_with_guilds(request.client, access).await?;
        Ok((user, Some((guilds, requested_at))))
    }

    /// Creates a session for an authenticated user, unless they are blocked.
    async fn admit(
        &self,
        user: User,
        tokens: &PlatformTokens,
        asked: RequestedList,
        user_agent: Option<UserAgent>,
    ) -> Result<SignedIn, SignInError> {
        let Core { ports: Ports { stores, vault, entropy, .. }, settings, .. } = &*self.0;
        if stores.blocked.is_blocked(user.id).await? {
            return Err(SignInError::Blocked(user.id));
        }
        let list = self.first_list(user.id, &tokens.access, asked).await?;
        let now = self.0.now();
        let token = settings.tokens.issue(&entropy.draw());
        let session =
            Session { id: token.hash(), user: user.id, created_at: now, last_seen_at: now, user_agent };
        let grant = GrantContent {
            tokens: settings.keep_tokens.then(|| token_box::seal(&**vault, user.id, tokens)),
            list,
            profile: Some(Profile::from(&user)),
        };
        let ended = settings.limits.cutoffs(now);
        let gone = stores.sign_ins.begin(&session, settings.limits.per_user, ended, &grant).await?;
        let (over, capped) = gone.into_iter().partition(|gone| ended.has_ended(gone));
        Ok(SignedIn { token, session, user, displaced: EvictedSessions { over, capped } })
    }

    /// Returns the first list of the session. It can follow later if tokens are stored.
    async fn first_list(
        &self,
        user: UserId,
        access: &Secret,
        asked: RequestedList,
    ) -> Result<Option<GuildList>, SignInError> {
        let Ports { stores, identity, .. } = &self.0.ports;
        let stored = async |fetched, at| Some(list_to_store(&*stores.guilds, user, fetched, at).await);
        let failed = match asked {
            Some((Ok(fetched), requested_at)) => return Ok(stored(fetched, requested_at).await),
            Some((Err(error), _)) => Some(error),
            None => None,
        };
        // An old list is better than none, for this session and the user's others.
        let last = stores.grants.find(user).await?.and_then(|grant| grant.content.list);
        if last.is_some() || self.0.settings.keep_tokens {
            return Ok(last);
        }
        if let Some(error) = failed {
            return Err(SignInError::Identity(error));
        }
        let requested_at = self.0.now();
        let fetched = identity.guilds(user, access).await.map_err(SignInError::Identity)?;
        Ok(stored(fetched, requested_at).await)
    }
}
