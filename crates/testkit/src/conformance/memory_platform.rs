//! Control of the in-memory platform.

use super::identity_provider::PlatformHold;
use async_trait::async_trait;
use companion_domain::model::{CodeVerifier, IdpCode, Membership, User, UserId, WebUrl};
use companion_storage_memory::{CodeTerms, MemoryIdentity};

#[async_trait]
impl PlatformHold for MemoryIdentity {
    async fn arrival(
        &self,
        user: &User,
        guilds: &[Membership],
        redirect: &WebUrl,
        verifier: Option<&CodeVerifier>,
    ) -> IdpCode {
        self.put_user(user.clone(), guilds.to_vec());
        let (verifier, redirect) = (verifier.cloned(), Some(redirect.clone()));
        let terms = CodeTerms { verifier, redirect, scope: None };
        self.issue_code_for(user.id, terms).parse().unwrap()
    }

    async fn arrival_granting(&self, user: &User, redirect: &WebUrl, scope: &str) -> IdpCode {
        self.put_user(user.clone(), Vec::new());
        let (redirect, scope) = (Some(redirect.clone()), Some(scope.to_owned()));
        self.issue_code_for(user.id, CodeTerms { verifier: None, redirect, scope }).parse().unwrap()
    }

    async fn expire_access(&self, user: UserId) {
        Self::expire_access(self, user);
    }
}
