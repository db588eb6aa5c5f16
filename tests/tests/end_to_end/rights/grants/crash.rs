//! We die between the platform's answer and our commit: the refresh token that we have is dead, and the one that lives is
//! lost. That costs the user one sign-in, and nobody else anything.

use super::{must_sign_in_again, owned, two_arrive};
use crate::rights::stage::{NEXT_TRY, REFRESH_AFTER, Stage, USER};
use async_trait::async_trait;
use companion_domain::{
    model::{Membership, PlatformTokens, Secret, User, UserId},
    port::{ClientMark, CodeExchange, IdentityError, IdentityProvider, Standing, UserWithGuilds},
};
use std::sync::Arc;

/// A platform whose new tokens nobody ever gets to see.
struct LastWords(Arc<dyn IdentityProvider>);

#[async_trait]
impl IdentityProvider for LastWords {
    fn ready_to_exchange(&self, standing: Standing) -> Result<(), IdentityError> {
        self.0.ready_to_exchange(standing)
    }

    async fn exchange(&self, exchange: &CodeExchange) -> Result<PlatformTokens, IdentityError> {
        self.0.exchange(exchange).await
    }

    async fn user(&self, client: ClientMark, access: &Secret) -> Result<User, IdentityError> {
        self.0.user(client, access).await
    }

    async fn guilds(&self, user: UserId, access: &Secret) -> Result<Vec<Membership>, IdentityError> {
        self.0.guilds(user, access).await
    }

    async fn user_with_guilds(
        &self,
        client: ClientMark,
        access: &Secret,
    ) -> Result<UserWithGuilds, IdentityError> {
        self.0.user_with_guilds(client, access).await
    }

    async fn refresh(&self, user: UserId, refresh: &Secret) -> Result<PlatformTokens, IdentityError> {
        self.0.refresh(user, refresh).await?;
        std::future::pending().await
    }

    async fn revoke(&self, token: &Secret) -> Result<(), IdentityError> {
        self.0.revoke(token).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_before_the_rotated_token_is_stored_costs_that_user_one_sign_in_and_nobody_else_anything() {
    let stage = Stage::with(&[], |adapters| {
        adapters.identity = Arc::new(LastWords(Arc::clone(&adapters.identity)));
    })
    .await;
    let (token, other) = two_arrive(&stage).await;
    stage.control.expire_access(None);
    stage.pass(REFRESH_AFTER);
    let shown = stage.shown(&token).await;
    assert_eq!((shown.guilds.as_slice(), shown.age), (owned().as_slice(), 60), "the last list");
    assert_eq!(stage.control.calls_of(USER).renewals, 1, "the platform has rotated");

    let stage = stage.restart(&[]).await;
    // Nobody knows yet: until the claim of the dead has run out, the last list is as good as any.
    assert_eq!(stage.shown(&token).await.guilds, owned());
    stage.pass(NEXT_TRY);
    must_sign_in_again(&stage, &token).await;
    assert_eq!(stage.shown_afresh(&other).await.guilds, owned());
    stage.stop().await;
}
