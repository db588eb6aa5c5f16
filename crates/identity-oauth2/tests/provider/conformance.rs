//! The promises of the port.

use crate::stage::Stage;
use async_trait::async_trait;
use companion_dev_identity::{Account, AccountGuild, CodeTerms, Control};
use companion_domain::model::{CodeVerifier, IdpCode, Membership, User, UserId, WebUrl};
use companion_testkit::conformance::{
    Fresh,
    identity_provider::{PlatformHold, ProviderOnPlatform},
};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

struct Hold(Control);

#[async_trait]
impl PlatformHold for Hold {
    async fn arrival(
        &self,
        user: &User,
        guilds: &[Membership],
        redirect: &WebUrl,
        verifier: Option<&CodeVerifier>,
    ) -> IdpCode {
        let guild = |membership: &Membership| AccountGuild {
            id: membership.guild.get(),
            name: "A guild".to_owned(),
            icon: None,
            owner: membership.owner,
            permissions: membership.permissions.bits(),
        };
        self.0.put_user(Account {
            id: user.id.get(),
            username: user.username.as_str().to_owned(),
            global_name: Some(user.name.as_str().to_owned()),
            avatar: None,
            guilds: guilds.iter().map(guild).collect(),
        });
        let terms = CodeTerms {
            redirect_uri: Some(redirect.to_string()),
            code_challenge: verifier.map(|verifier| challenge(verifier.expose())),
            ..CodeTerms::default()
        };
        self.0.mint_code_with(user.id.get(), terms).parse().unwrap()
    }

    async fn arrival_granting(&self, user: &User, redirect: &WebUrl, scope: &str) -> IdpCode {
        self.arrival(user, &[], redirect, None).await;
        let (redirect_uri, scope) = (Some(redirect.to_string()), Some(scope.to_owned()));
        let terms = CodeTerms { redirect_uri, scope, ..CodeTerms::default() };
        self.0.mint_code_with(user.id.get(), terms).parse().unwrap()
    }

    async fn expire_access(&self, user: UserId) {
        self.0.expire_access(Some(user.get()));
    }
}

pub(crate) fn challenge(verifier: &str) -> String {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

companion_testkit::identity_provider_conformance! {{
    let Stage { running, control, provider, .. } = Stage::new();
    let platform = Arc::new(Hold(control));
    Fresh::new(Arc::new(ProviderOnPlatform { provider: Arc::new(provider), platform })).keeping(running)
}}
