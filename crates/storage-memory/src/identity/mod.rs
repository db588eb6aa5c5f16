//! An in-memory chat platform.

mod calls;

pub use self::calls::{Held, IdentityCall};

use self::calls::Calls;
use async_trait::async_trait;
use companion_domain::{
    model::{
        CodeVerifier, Membership, NamedGuild, PlatformGuilds, PlatformTokens, Secret, Span, Timestamp, User,
        UserId, WebUrl,
    },
    port::{
        ClientMark, Clock, CodeExchange, Entropy, IdentityError, IdentityErrorKind, IdentityProvider,
        Reputation, has_needed_scopes,
    },
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Lifetime of a code.
const CODE_LIFETIME: Span = Span::from_seconds(100);
/// Lifetime of an access token.
const ACCESS_LIFETIME: Span = Span::from_seconds(7 * 24 * 60 * 60);

/// Conditions for the exchange of a code. `None` is not checked.
#[derive(Debug, Clone, Default)]
pub struct CodeTerms {
    /// The PKCE verifier that must accompany the code.
    pub verifier: Option<CodeVerifier>,
    /// The redirect URI that must accompany the code.
    pub redirect: Option<WebUrl>,
    /// The granted scopes, separated by spaces. `None` grants all of them.
    pub scope: Option<String>,
}

/// An identity provider whose users, codes and tokens are in memory.
///
/// It behaves like the real platform: a code works once within 100 seconds, an access token for seven days, a refresh
/// token once, and revoking any token of a user revokes all of them. Tests can also make it fail, block callers, and
/// count calls.
pub struct MemoryIdentity {
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    platform: Mutex<Platform>,
    calls: Calls,
}

#[derive(Default)]
struct Platform {
    accounts: HashMap<UserId, (User, Vec<Membership>)>,
    codes: HashMap<String, Code>,
    /// Pairs of tokens, by the access token.
    pairs: HashMap<String, Pair>,
    /// If set, exchanges are rejected with this wait before they are sent.
    closed: Option<Duration>,
}

struct Code {
    user: UserId,
    terms: CodeTerms,
    expires_at: Timestamp,
}

struct Pair {
    user: UserId,
    refresh: String,
    /// When the access token expires.
    expires_at: Timestamp,
}

impl Platform {
    /// Returns the account of a valid access token.
    fn account(&self, access: &Secret, now: Timestamp) -> Result<&(User, Vec<Membership>), IdentityError> {
        let pair = self.pairs.get(access.expose()).filter(|pair| pair.expires_at > now);
        let account = pair.and_then(|pair| self.accounts.get(&pair.user));
        account
            .ok_or_else(|| IdentityError::new(IdentityErrorKind::TokenRefused, "unknown, expired or revoked"))
    }

    /// Spends a code, valid or not. Returns its user and granted scopes, or `None` if it is invalid.
    fn take_code(&mut self, exchange: &CodeExchange, now: Timestamp) -> Option<(UserId, Option<String>)> {
        let Code { user, terms, expires_at } = self.codes.remove(exchange.code.expose())?;
        let good = expires_at > now
            && self.accounts.contains_key(&user)
            && terms.verifier.as_ref().is_none_or(|expected| Some(expected) == exchange.verifier.as_ref())
            && terms.redirect.as_ref().is_none_or(|expected| *expected == exchange.redirect);
        good.then_some((user, terms.scope))
    }
}

impl MemoryIdentity {
    /// Creates a platform without users.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self { clock, entropy, platform: Mutex::default(), calls: Calls::default() }
    }

    /// Adds or replaces a user, who is in these guilds. A guild is named `Guild` and its id, and has no icon.
    pub fn put_user(&self, user: User, guilds: Vec<Membership>) {
        self.platform().accounts.insert(user.id, (user, guilds));
    }

    /// Issues a code for a user, as the platform would send it to the browser. An unknown user gets a code as well, but
    /// its exchange fails.
    pub fn issue_code(&self, user: UserId) -> String {
        self.issue_code_for(user, CodeTerms::default())
    }

    /// Issues a code that can only be exchanged on these terms.
    pub fn issue_code_for(&self, user: UserId, terms: CodeTerms) -> String {
        let (code, now) = (self.random_text("code"), self.clock.now());
        let mut platform = self.platform();
        platform.codes.retain(|_, code| code.expires_at > now);
        let expires_at = now.after(CODE_LIFETIME.get());
        platform.codes.insert(code.clone(), Code { user, terms, expires_at });
        code
    }

    /// Expires the user's access tokens early. Their refresh tokens still work.
    pub fn expire_access(&self, user: UserId) {
        let now = self.clock.now();
        for pair in self.platform().pairs.values_mut().filter(|pair| pair.user == user) {
            pair.expires_at = now;
        }
    }

    /// Revokes all tokens of a user, as when they remove the application from their account.
    pub fn end_authorisation(&self, user: UserId) {
        self.platform().pairs.retain(|_, pair| pair.user != user);
    }

    /// Returns whether the user has tokens that can still be used.
    #[must_use]
    pub fn is_authorised(&self, user: UserId) -> bool {
        self.platform().pairs.values().any(|pair| pair.user == user)
    }

    /// Rejects exchanges before they are sent, like an adapter that was told to wait this long. `None` accepts them
    /// again.
    pub fn reject_exchanges(&self, wait: Option<Duration>) {
        self.platform().closed = wait;
    }

    /// Issues a token pair for a user.
    fn authorise(&self, user: UserId) -> PlatformTokens {
        let (access, refresh) = (self.random_text("access"), self.random_text("refresh"));
        let expires_at = self.clock.now().after(ACCESS_LIFETIME.get());
        self.platform().pairs.insert(access.clone(), Pair { user, refresh: refresh.clone(), expires_at });
        PlatformTokens { access: Secret::new(access), refresh: Some(Secret::new(refresh)), expires_at }
    }

    fn platform(&self) -> MutexGuard<'_, Platform> {
        self.platform.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn random_text(&self, prefix: &str) -> String {
        let mut bytes = [0; 16];
        self.entropy.fill(&mut bytes);
        format!("{prefix}-{:032x}", u128::from_le_bytes(bytes))
    }
}

impl std::fmt::Debug for MemoryIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryIdentity").finish_non_exhaustive()
    }
}

fn bad_grant() -> IdentityError {
    IdentityError::new(IdentityErrorKind::BadGrant, "unknown, expired or used before")
}

#[async_trait]
impl IdentityProvider for MemoryIdentity {
    fn ready_to_exchange(&self, _: Reputation) -> Result<(), IdentityError> {
        let wait = self.platform().closed;
        wait.map_or(Ok(()), |wait| Err(IdentityError::new(IdentityErrorKind::Limited(wait), "told to wait")))
    }

    async fn exchange(&self, exchange: &CodeExchange) -> Result<PlatformTokens, IdentityError> {
        self.ready_to_exchange(exchange.standing)?;
        let failure = match self.calls.begin(IdentityCall::Exchange).await {
            Err(error) if error.kind.is_unprocessed() => return Err(error),
            begun => begun.err(),
        };
        let taken = self.platform().take_code(exchange, self.clock.now());
        if let Some(error) = failure {
            return Err(error);
        }
        let (user, scope) = taken.ok_or_else(bad_grant)?;
        let tokens = self.authorise(user);
        if scope.is_none_or(|scope| has_needed_scopes(scope.split(' '))) {
            return Ok(tokens);
        }
        Err(IdentityError::new(IdentityErrorKind::ScopeMissing, "the code was granted for less"))
    }

    async fn user(&self, _: ClientMark, access: &Secret) -> Result<User, IdentityError> {
        self.calls.begin(IdentityCall::User).await?;
        let (user, _) = self.platform().account(access, self.clock.now())?.clone();
        Ok(user)
    }

    async fn guilds(&self, _: UserId, access: &Secret) -> Result<PlatformGuilds, IdentityError> {
        self.calls.begin(IdentityCall::Guilds).await?;
        let (_, memberships) = self.platform().account(access, self.clock.now())?.clone();
        let names = memberships.iter().filter_map(|Membership { guild, .. }| {
            Some(NamedGuild { guild: *guild, name: format!("Guild {guild}").parse().ok()?, icon: None })
        });
        Ok(PlatformGuilds { names: names.collect(), memberships })
    }

    async fn refresh(&self, _: UserId, refresh: &Secret) -> Result<PlatformTokens, IdentityError> {
        self.calls.begin(IdentityCall::Refresh).await?;
        let spent = self.platform().pairs.extract_if(|_, pair| pair.refresh == refresh.expose()).next();
        let (_, Pair { user, .. }) = spent.ok_or_else(bad_grant)?;
        Ok(self.authorise(user))
    }

    async fn revoke(&self, token: &Secret) -> Result<(), IdentityError> {
        self.calls.begin(IdentityCall::Revoke).await?;
        let mut platform = self.platform();
        let token = token.expose();
        let names = |(access, pair): &(&String, &Pair)| *access == token || pair.refresh == token;
        let owner = platform.pairs.iter().find(names).map(|(_, pair)| pair.user);
        platform.pairs.retain(|_, pair| Some(pair.user) != owner);
        Ok(())
    }
}
