//! Wrong identity providers.

use crate::conformance::proof::{Spoilt, faults, locked};
use async_trait::async_trait;
use companion_domain::{
    model::{PlatformGuilds, PlatformTokens, Secret, User, UserId},
    port::{
        ClientMark, CodeExchange, IdentityError, IdentityErrorKind, IdentityProvider, Reputation,
        UserWithGuilds,
    },
};
use companion_storage_memory::MemoryIdentity;
use companion_testkit::{
    clock::FixedClock,
    conformance::{Fresh, identity_provider::ProviderOnPlatform},
    entropy::SeededEntropy,
};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

faults! {
    fn proofs, enum Fault {}
    identity_provider(wrong) {
        lists_and_names_every_guild_once:
            LastOfPageTwice "the last guild of a page is repeated",
            FivePages "at most five pages of guilds are read",
            FirstPageWithTheUser "only the first page of guilds is fetched with the user";
        errors_never_contain_codes_or_tokens: ErrorShowsTheCode "an error contains the code";
        a_code_with_a_challenge_needs_its_verifier: VerifierNotSent "the verifier is not sent";
        ready_to_exchange_consumes_nothing:
            AskingUsesUpRoom "ready_to_exchange consumes budget";
        revoking_ends_the_whole_authorisation:
            RevokeDoesNothing "revoking keeps the tokens valid",
            RevokeOnDeadFails "revoking a dead token is an error";
        a_code_with_missing_scopes_is_reported_and_spent:
            ScopeMissingIsABadGrant "a code with missing scopes is reported as a bad grant",
            ScopeMissingIsRevoked "tokens with missing scopes are revoked";
        exchanges_a_code_for_tokens_of_its_user:
            NamesTrimmed "names are trimmed";
        nothing_is_cached_about_tokens_or_users:
            RefusedIsABadGrant "a rejected access token is reported as a bad grant",
            GuildsAreRemembered "the guilds of a user are cached";
    }
}

fn wrong(fault: Fault) -> Fresh<ProviderOnPlatform> {
    let (clock, entropy) = (FixedClock::default(), SeededEntropy::default());
    let platform = Arc::new(MemoryIdentity::new(Arc::new(clock), Arc::new(entropy)));
    let provider = Arc::new(Wrong {
        inner: platform.clone(),
        fault,
        first: OnceLock::new(),
        asked: AtomicU64::new(0),
        guilds: Mutex::default(),
    });
    Fresh::new(Arc::new(ProviderOnPlatform { provider, platform }))
}

struct Wrong {
    inner: Arc<dyn IdentityProvider>,
    fault: Fault,
    /// An access token that worked.
    first: OnceLock<Secret>,
    asked: AtomicU64,
    guilds: Mutex<HashMap<UserId, PlatformGuilds>>,
}

#[async_trait]
impl IdentityProvider for Wrong {
    fn ready_to_exchange(&self, standing: Reputation) -> Result<(), IdentityError> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        if let (Fault::AskingUsesUpRoom, 300..) = (self.fault, asked) {
            let wait = Duration::from_secs(60);
            return Err(IdentityError::new(IdentityErrorKind::Limited(wait), "used up"));
        }
        self.inner.ready_to_exchange(standing)
    }

    async fn exchange(&self, exchange: &CodeExchange) -> Result<PlatformTokens, IdentityError> {
        let mut sent = exchange.clone();
        if let Fault::VerifierNotSent = self.fault {
            sent.verifier = None;
        }
        let exchanged = self.inner.exchange(&sent).await;
        if let Ok(tokens) = &exchanged {
            let _ = self.first.set(tokens.access.clone());
        }
        if let (Fault::ScopeMissingIsRevoked, Err(_), Some(first)) =
            (self.fault, &exchanged, self.first.get())
        {
            self.inner.revoke(first).await?;
        }
        exchanged.map_err(|error| match self.fault {
            Fault::ScopeMissingIsABadGrant => IdentityError::new(IdentityErrorKind::BadGrant, error.cause),
            Fault::ErrorShowsTheCode => {
                IdentityError::new(error.kind, format!("refused {}", exchange.code.expose()))
            }
            _ => error,
        })
    }

    async fn user(&self, client: ClientMark, access: &Secret) -> Result<User, IdentityError> {
        let mut user = self.inner.user(client, access).await.map_err(|error| match self.fault {
            Fault::RefusedIsABadGrant => IdentityError::new(IdentityErrorKind::BadGrant, error.cause),
            _ => error,
        })?;
        if let Fault::NamesTrimmed = self.fault {
            user.name = Spoilt::Trimmed.name(&user.name);
        }
        Ok(user)
    }

    async fn guilds(&self, user: UserId, access: &Secret) -> Result<PlatformGuilds, IdentityError> {
        let mut guilds = self.inner.guilds(user, access).await?;
        match self.fault {
            Fault::FivePages => guilds.memberships.truncate(1000),
            Fault::GuildsAreRemembered => {
                let mut remembered = locked(&self.guilds);
                guilds = remembered.entry(user).or_insert(guilds).clone();
            }
            Fault::LastOfPageTwice => guilds.memberships.extend(guilds.memberships.get(199).copied()),
            _ => {}
        }
        Ok(guilds)
    }

    async fn user_with_guilds(
        &self,
        client: ClientMark,
        access: &Secret,
    ) -> Result<UserWithGuilds, IdentityError> {
        let mut together = self.inner.user_with_guilds(client, access).await?;
        if let (Fault::FirstPageWithTheUser, Ok(guilds)) = (self.fault, &mut together.guilds) {
            guilds.memberships.truncate(200);
        }
        Ok(together)
    }

    async fn refresh(&self, user: UserId, refresh: &Secret) -> Result<PlatformTokens, IdentityError> {
        self.inner.refresh(user, refresh).await
    }

    async fn revoke(&self, token: &Secret) -> Result<(), IdentityError> {
        match self.fault {
            Fault::RevokeDoesNothing => Ok(()),
            Fault::RevokeOnDeadFails => {
                self.inner.user(ClientMark::default(), token).await?;
                self.inner.revoke(token).await
            }
            _ => self.inner.revoke(token).await,
        }
    }
}
