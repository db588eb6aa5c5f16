//! An identity provider around the real one that notes which tokens pass, and what values and errors say of themselves.

use super::garden::Garden;
use async_trait::async_trait;
use companion_domain::{
    model::{Membership, PlatformTokens, Secret, User, UserId},
    port::{ClientMark, CodeExchange, IdentityError, IdentityProvider, Standing, UserWithGuilds},
};
use std::{error::Error, sync::Arc};

pub(super) struct Recorder {
    pub(super) real: Arc<dyn IdentityProvider>,
    pub(super) garden: Garden,
}

impl Recorder {
    fn tokens(&self, result: Result<PlatformTokens, IdentityError>) -> Result<PlatformTokens, IdentityError> {
        if let Ok(tokens) = &result {
            self.garden.plant("access token", tokens.access.expose());
            if let Some(refresh) = &tokens.refresh {
                self.garden.plant("refresh token", refresh.expose());
            }
            self.garden.said(&format!("{tokens:?}"));
        }
        self.noted(result)
    }

    /// Notes everything that an error says to anyone who asks.
    fn noted<T>(&self, result: Result<T, IdentityError>) -> Result<T, IdentityError> {
        let mut cause: Option<&dyn Error> = result.as_ref().err().map(|error| error as _);
        while let Some(error) = cause {
            self.garden.said(&format!("{error} {error:?} {error:#?}"));
            cause = error.source();
        }
        result
    }
}

#[async_trait]
impl IdentityProvider for Recorder {
    fn ready_to_exchange(&self, standing: Standing) -> Result<(), IdentityError> {
        self.real.ready_to_exchange(standing)
    }

    async fn exchange(&self, exchange: &CodeExchange) -> Result<PlatformTokens, IdentityError> {
        self.garden.said(&format!("{exchange:?} {:?}", exchange.code.fingerprint()));
        self.tokens(self.real.exchange(exchange).await)
    }

    async fn user(&self, client: ClientMark, access: &Secret) -> Result<User, IdentityError> {
        self.garden.said(&format!("{access:?}"));
        self.noted(self.real.user(client, access).await)
    }

    async fn guilds(&self, user: UserId, access: &Secret) -> Result<Vec<Membership>, IdentityError> {
        self.noted(self.real.guilds(user, access).await)
    }

    async fn user_with_guilds(
        &self,
        client: ClientMark,
        access: &Secret,
    ) -> Result<UserWithGuilds, IdentityError> {
        self.garden.said(&format!("{access:?}"));
        let mut together = self.noted(self.real.user_with_guilds(client, access).await)?;
        together.guilds = self.noted(together.guilds);
        Ok(together)
    }

    async fn refresh(&self, user: UserId, refresh: &Secret) -> Result<PlatformTokens, IdentityError> {
        self.tokens(self.real.refresh(user, refresh).await)
    }

    async fn revoke(&self, token: &Secret) -> Result<(), IdentityError> {
        self.noted(self.real.revoke(token).await)
    }
}
