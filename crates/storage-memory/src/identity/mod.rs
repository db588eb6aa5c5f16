//! An in-memory chat platform.

mod calls;
mod platform;

pub use self::{
    calls::{Held, IdentityCall},
    platform::CodeTerms,
};

use self::{calls::Calls, platform::Platform};
use async_trait::async_trait;
use companion_domain::{
    model::{Membership, NamedGuild, PlatformGuilds, PlatformTokens, Secret, User, UserId},
    port::{
        ClientMark, Clock, CodeExchange, Entropy, IdentityError, IdentityErrorKind, IdentityProvider,
        Reputation, UserWithGuilds, has_needed_scopes,
    },
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

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
    /// If set, exchanges are rejected with this wait before they are sent.
    closed: Mutex<Option<Duration>>,
}

impl MemoryIdentity {
    /// Creates a platform without users.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self { clock, entropy, platform: Mutex::default(), calls: Calls::default(), closed: Mutex::default() }
    }

    /// Adds or replaces a user, who is in these guilds. A guild is named `Guild` and its id, and has no icon.
    pub fn put_user(&self, user: User, guilds: Vec<Membership>) {
        self.platform().put_user(user, guilds);
    }

    /// Issues a code for a user, as the platform would send it to the browser. An unknown user gets a code as well, but
    /// its exchange fails.
    pub fn issue_code(&self, user: UserId) -> String {
        self.issue_code_for(user, CodeTerms::default())
    }

    /// Issues a code that can only be exchanged on these terms.
    pub fn issue_code_for(&self, user: UserId, terms: CodeTerms) -> String {
        let code = self.random_text("code");
        self.platform().add_code(code.clone(), user, terms, self.clock.now());
        code
    }

    /// Expires the user's access tokens early. Their refresh tokens still work.
    pub fn expire_access(&self, user: UserId) {
        self.platform().expire_access(user, self.clock.now());
    }

    /// Revokes all tokens of a user, as when they remove the application from their account.
    pub fn end_authorisation(&self, user: UserId) {
        self.platform().end_authorisation(user);
    }

    /// Returns whether the user has tokens that can still be used.
    #[must_use]
    pub fn is_authorised(&self, user: UserId) -> bool {
        self.platform().is_authorised(user)
    }

    /// Rejects exchanges before they are sent, like an adapter that was told to wait this long. `None` accepts them
    /// again.
    pub fn reject_exchanges(&self, wait: Option<Duration>) {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = wait;
    }

    async fn list(&self, access: &Secret) -> Result<PlatformGuilds, IdentityError> {
        self.calls.begin(IdentityCall::Guilds).await?;
        let platform = self.platform();
        let account = platform.account(access.expose(), self.clock.now());
        let memberships = account.map(|account| account.guilds.clone()).ok_or_else(token_refused)?;
        let names = memberships.iter().filter_map(|Membership { guild, .. }| {
            Some(NamedGuild { guild: *guild, name: format!("Guild {guild}").parse().ok()?, icon: None })
        });
        Ok(PlatformGuilds { names: names.collect(), memberships })
    }

    fn platform(&self) -> MutexGuard<'_, Platform> {
        self.platform.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn random_text(&self, prefix: &str) -> String {
        let mut bytes = [0; 16];
        self.entropy.fill(&mut bytes);
        format!("{prefix}-{:032x}", u128::from_le_bytes(bytes))
    }

    fn new_tokens(&self) -> (String, String) {
        (self.random_text("access"), self.random_text("refresh"))
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

fn scope_missing() -> IdentityError {
    IdentityError::new(IdentityErrorKind::ScopeMissing, "the code was granted for less")
}

fn token_refused() -> IdentityError {
    IdentityError::new(IdentityErrorKind::TokenRefused, "unknown, expired or revoked")
}

#[async_trait]
impl IdentityProvider for MemoryIdentity {
    fn ready_to_exchange(&self, _: Reputation) -> Result<(), IdentityError> {
        let wait = *self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        wait.map_or(Ok(()), |wait| Err(IdentityError::new(IdentityErrorKind::Limited(wait), "told to wait")))
    }

    async fn exchange(&self, exchange: &CodeExchange) -> Result<PlatformTokens, IdentityError> {
        self.ready_to_exchange(exchange.standing)?;
        let failure = match self.calls.begin(IdentityCall::Exchange).await {
            Err(error) if error.kind.is_unprocessed() => return Err(error),
            begun => begun.err(),
        };
        let tokens = self.new_tokens();
        let now = self.clock.now();
        let mut platform = self.platform();
        let taken = platform.take_code(exchange, now);
        if let Some(error) = failure {
            return Err(error);
        }
        let (user, scope) = taken.ok_or_else(bad_grant)?;
        let tokens = platform.authorise(user, tokens, now);
        let enough = scope.is_none_or(|scope| has_needed_scopes(scope.split(' ')));
        if enough { Ok(tokens) } else { Err(scope_missing()) }
    }

    async fn user(&self, _: ClientMark, access: &Secret) -> Result<User, IdentityError> {
        self.calls.begin(IdentityCall::User).await?;
        let platform = self.platform();
        let account = platform.account(access.expose(), self.clock.now());
        account.map(|account| account.user.clone()).ok_or_else(token_refused)
    }

    async fn guilds(&self, _: UserId, access: &Secret) -> Result<PlatformGuilds, IdentityError> {
        self.list(access).await
    }

    async fn user_with_guilds(
        &self,
        client: ClientMark,
        access: &Secret,
    ) -> Result<UserWithGuilds, IdentityError> {
        let guilds = async { Ok(self.list(access).await) };
        let (user, guilds) = tokio::try_join!(self.user(client, access), guilds)?;
        Ok(UserWithGuilds { user, guilds })
    }

    async fn refresh(&self, _: UserId, refresh: &Secret) -> Result<PlatformTokens, IdentityError> {
        self.calls.begin(IdentityCall::Refresh).await?;
        let tokens = self.new_tokens();
        let mut platform = self.platform();
        let user = platform.take_refresh(refresh.expose()).ok_or_else(bad_grant)?;
        Ok(platform.authorise(user, tokens, self.clock.now()))
    }

    async fn revoke(&self, token: &Secret) -> Result<(), IdentityError> {
        self.calls.begin(IdentityCall::Revoke).await?;
        let mut platform = self.platform();
        if let Some(user) = platform.owner(token.expose()) {
            platform.end_authorisation(user);
        }
        Ok(())
    }
}
