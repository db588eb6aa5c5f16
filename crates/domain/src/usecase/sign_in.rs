//! Signing a user in: a code becomes a session.

use super::{RevokeUnusedGrants, token_box};
use crate::{
    model::{GuildList, Membership, PlatformTokens, Secret, Span, Timestamp, User, UserId},
    port::{
        BlockList, Clock, CodeExchange, Entropy, GrantContent, GrantStore, IdentityError, IdentityErrorKind,
        IdentityProvider, SignIns, SpentCodes, StoreError, UserWithGuilds, Vault,
    },
    session::{Session, SessionLimits, SessionToken, TokenRing, UserAgent},
};
use std::{sync::Arc, time::Duration};

/// What came of asking for the list; nothing where it was not asked for.
type AskedList = Option<Result<GuildList, IdentityError>>;

/// How long a used code is remembered. The platform's codes live a fraction of that.
const CODE_MEMORY: Span = Span::from_seconds(600);

/// A whole sign-in may take seven seconds and a call to the platform five: a list that is asked for within this time
/// cannot cost the session.
const LIST_ASKED_WITHIN: Span = Span::from_seconds(1);

/// What a caller brings to sign in: what the platform is asked with, and nothing else.
pub type SignInRequest = CodeExchange;

/// A new session.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// The token, shown this once.
    pub token: SessionToken,
    /// As it is stored.
    pub session: Session,
    /// Who signed in, as the platform shows them.
    pub user: User,
    /// Sessions of the user that made room for it.
    pub displaced: Displaced,
}

/// Sessions that a new one displaced.
#[derive(Debug, Clone, Default)]
pub struct Displaced {
    /// Those that were over anyway.
    pub over: Vec<Session>,
    /// Those that were one too many.
    pub capped: Vec<Session>,
}

/// Why there is no new session.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The code is unknown, expired, or was used before.
    #[error("the code was refused")]
    CodeRefused,
    /// The user did not grant what a sign-in needs.
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
pub struct SignIn {
    /// Exchanges the code, and tells whose it is.
    pub identity: Arc<dyn IdentityProvider>,
    /// Codes that were used.
    pub codes: Arc<dyn SpentCodes>,
    /// Sessions together with their grants.
    pub sign_ins: Arc<dyn SignIns>,
    /// Grants, with the last lists.
    pub grants: Arc<dyn GrantStore>,
    /// Users who may not sign in.
    pub blocked: Arc<dyn BlockList>,
    /// Gives back what the platform granted to someone who may not.
    pub revoke_unused: Arc<RevokeUnusedGrants>,
    /// Seals the tokens.
    pub vault: Arc<dyn Vault>,
    /// Dates sessions, and says how long the platform has taken.
    pub clock: Arc<dyn Clock>,
    /// Randomness for tokens.
    pub entropy: Arc<dyn Entropy>,
    /// Signs session tokens.
    pub tokens: TokenRing,
    /// What ends sessions.
    pub limits: SessionLimits,
    /// Whether platform tokens are kept, so that the list can be refreshed.
    pub keep_tokens: bool,
}

impl SignIn {
    /// Turns a code into a new session. The code is marked as used before it is sent, so a store that cannot write
    /// costs nobody a code; and a code that would not be sent is not even marked, so that nobody can make the store
    /// write while the platform is closed to us.
    pub async fn sign_in(&self, request: &SignInRequest) -> Result<SignedIn, SignInError> {
        self.identity.ready_to_exchange(request.standing)?;
        let fingerprint = request.code.fingerprint();
        let (begun, now) = (self.clock.monotonic(), self.clock.now());
        if !self.codes.spend(&fingerprint, now, now.after(CODE_MEMORY.get())).await? {
            return Err(SignInError::CodeRefused);
        }
        let tokens = match self.identity.exchange(request).await {
            Ok(tokens) => tokens,
            Err(error) => {
                if error.kind.nothing_sent() {
                    self.codes.restore(&fingerprint).await?;
                }
                return Err(error.into());
            }
        };
        // Until we know whose they are the tokens are not given back: with one token the platform ends all of its user's.
        let (user, list) = self.ask(request, &tokens.access, begun).await.map_err(SignInError::Identity)?;
        let id = user.id;
        let signed_in = self.admit(user, &tokens, list, request.user_agent.clone()).await;
        if signed_in.is_err() {
            self.revoke_unused.start_unstored(id, tokens);
        }
        signed_in
    }

    /// Whose tokens these are, and the list that the session begins with, asked for at once. The list can come later; the
    /// session cannot, so a platform that was slow since we have `begun` is not asked for more than it must.
    async fn ask(
        &self,
        request: &SignInRequest,
        access: &Secret,
        begun: Duration,
    ) -> Result<(User, AskedList), IdentityError> {
        let asked_at = self.clock.now();
        if self.clock.monotonic().saturating_sub(begun) >= LIST_ASKED_WITHIN.get() {
            return Ok((self.identity.user(request.client, access).await?, None));
        }
        let UserWithGuilds { user, guilds } = self.identity.user_with_guilds(request.client, access).await?;
        Ok((user, Some(guilds.map(|memberships| list(memberships, asked_at)))))
    }

    /// Makes a session for someone whom the platform knows.
    async fn admit(
        &self,
        user: User,
        tokens: &PlatformTokens,
        asked: AskedList,
        user_agent: Option<UserAgent>,
    ) -> Result<SignedIn, SignInError> {
        if self.blocked.is_blocked(user.id).await? {
            return Err(SignInError::Blocked(user.id));
        }
        let list = self.first_list(user.id, &tokens.access, asked).await?;
        self.open_session(user, tokens, list, user_agent).await
    }

    /// The list that the session begins with. As long as tokens are kept it can come later.
    async fn first_list(
        &self,
        user: UserId,
        access: &Secret,
        asked: AskedList,
    ) -> Result<Option<GuildList>, SignInError> {
        if let Some(Ok(list)) = asked {
            return Ok(Some(list));
        }
        // An old list is better than none, for this session and the user's others.
        let last = self.grants.find(user).await?.and_then(|grant| grant.content.list);
        if last.is_some() || self.keep_tokens {
            return Ok(last);
        }
        let needed = match asked {
            Some(failed) => failed,
            None => {
                let asked_at = self.clock.now();
                let memberships = self.identity.guilds(user, access).await;
                memberships.map(|memberships| list(memberships, asked_at))
            }
        };
        needed.map(Some).map_err(SignInError::Identity)
    }

    async fn open_session(
        &self,
        user: User,
        tokens: &PlatformTokens,
        list: Option<GuildList>,
        user_agent: Option<UserAgent>,
    ) -> Result<SignedIn, SignInError> {
        let now = self.clock.now();
        let token = self.tokens.issue(&self.entropy.draw());
        let session =
            Session { id: token.hash(), user: user.id, created_at: now, last_seen_at: now, user_agent };
        let grant = GrantContent {
            tokens: self.keep_tokens.then(|| token_box::seal(&*self.vault, user.id, tokens)),
            list,
        };
        let ended = self.limits.cutoffs(now);
        let gone = self.sign_ins.begin(&session, self.limits.per_user, ended, &grant).await?;
        let (over, capped) = gone.into_iter().partition(|gone| ended.has_ended(gone));
        Ok(SignedIn { token, session, user, displaced: Displaced { over, capped } })
    }
}

/// A list, dated by when it was asked for: what comes at once with something slower is no younger than that.
fn list(memberships: Vec<Membership>, asked_at: Timestamp) -> GuildList {
    GuildList { memberships: memberships.into(), fetched_at: asked_at }
}
