//! Notices a redirect URI that is not the one of the sign-in page.
//!
//! The platform gives out a code for one redirect URI, and refuses it together with another in the same words as a code that
//! somebody made up. Nobody can tell them apart, but a service whose every code is refused from the start is most likely told
//! the wrong one.

use async_trait::async_trait;
use companion_domain::{
    model::{Membership, PlatformTokens, Secret, User, UserId},
    port::{
        ClientMark, CodeExchange, IdentityError, IdentityErrorKind, IdentityProvider, Standing,
        UserWithGuilds,
    },
};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

/// So many refused codes without a good one are no coincidence any more. The count goes no further.
const SUSPICIOUS: u32 = 3;

/// A provider that warns once where it refuses the first codes, one and all.
pub(super) struct FirstCodes<P> {
    provider: Arc<P>,
    refused: AtomicU32,
}

impl<P> FirstCodes<P> {
    pub(super) const fn of(provider: Arc<P>) -> Self {
        Self { provider, refused: AtomicU32::new(0) }
    }

    fn note(&self, exchanged: &Result<PlatformTokens, IdentityError>) {
        match exchanged {
            Ok(_) => self.refused.store(SUSPICIOUS, Relaxed),
            Err(error) if error.kind == IdentityErrorKind::BadGrant => {
                let one_more = |refused: u32| (refused < SUSPICIOUS).then_some(refused + 1);
                if self.refused.fetch_update(Relaxed, Relaxed, one_more) == Ok(SUSPICIOUS - 1) {
                    tracing::warn!(
                        "identity.redirect_uri: the platform refused each of the first {SUSPICIOUS} codes. Unless somebody made \
                         them up, the redirect URI is not, to the letter, the one that the sign-in page names to the platform"
                    );
                }
            }
            Err(_) => {}
        }
    }
}

#[async_trait]
impl<P: IdentityProvider> IdentityProvider for FirstCodes<P> {
    fn ready_to_exchange(&self, standing: Standing) -> Result<(), IdentityError> {
        self.provider.ready_to_exchange(standing)
    }

    async fn exchange(&self, exchange: &CodeExchange) -> Result<PlatformTokens, IdentityError> {
        let exchanged = self.provider.exchange(exchange).await;
        self.note(&exchanged);
        exchanged
    }

    async fn user(&self, client: ClientMark, access: &Secret) -> Result<User, IdentityError> {
        self.provider.user(client, access).await
    }

    async fn guilds(&self, user: UserId, access: &Secret) -> Result<Vec<Membership>, IdentityError> {
        self.provider.guilds(user, access).await
    }

    async fn user_with_guilds(
        &self,
        client: ClientMark,
        access: &Secret,
    ) -> Result<UserWithGuilds, IdentityError> {
        self.provider.user_with_guilds(client, access).await
    }

    async fn refresh(&self, user: UserId, refresh: &Secret) -> Result<PlatformTokens, IdentityError> {
        self.provider.refresh(user, refresh).await
    }

    async fn revoke(&self, token: &Secret) -> Result<(), IdentityError> {
        self.provider.revoke(token).await
    }
}
