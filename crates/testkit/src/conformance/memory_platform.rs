//! A hold on the platform in memory.

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
        let terms = CodeTerms { verifier: verifier.cloned(), redirect: Some(redirect.clone()) };
        self.issue_code_for(user.id, terms).parse().unwrap()
    }

    async fn expire_access(&self, user: UserId) {
        Self::expire_access(self, user);
    }
}
