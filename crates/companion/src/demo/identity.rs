//! Sign-in codes that a person can type.

use super::Person;
use async_trait::async_trait;
use companion_domain::{
    model::{CodeVerifier, IdpCode, Membership, PlatformTokens, Secret, User, UserId, WebUrl},
    port::{Clock, Entropy, IdentityError, IdentityProvider},
};
use companion_storage_memory::MemoryIdentity;
use std::sync::{Arc, Mutex, PoisonError};

/// The platform in memory, with codes like `demo-owner-1` in front of it. Each works once; the next one has the next
/// number, and is told in the log.
pub struct DemoIdentity {
    platform: MemoryIdentity,
    doors: Mutex<Vec<Door>>,
}

struct Door {
    word: &'static str,
    user: UserId,
    next: u32,
}

impl Door {
    fn code(&self) -> String {
        format!("demo-{}-{}", self.word, self.next)
    }
}

impl DemoIdentity {
    /// A platform with these people.
    #[must_use]
    pub fn new(people: &[Person], clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        let platform = MemoryIdentity::new(clock, entropy);
        for person in people {
            platform.put_user(person.user.clone(), person.memberships.clone());
        }
        let doors =
            people.iter().map(|person| Door { word: person.word, user: person.user.id, next: 1 }).collect();
        Self { platform, doors: Mutex::new(doors) }
    }

    /// The code that works next for each person, in the order of the people.
    #[must_use]
    pub fn codes(&self) -> Vec<String> {
        self.doors().iter().map(Door::code).collect()
    }

    fn doors(&self) -> std::sync::MutexGuard<'_, Vec<Door>> {
        self.doors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The code that the platform knows for one of ours, which is then spent.
    fn translate(&self, code: &IdpCode) -> Option<IdpCode> {
        let mut doors = self.doors();
        let door = doors.iter_mut().find(|door| door.code() == code.expose())?;
        door.next += 1;
        tracing::info!("the next code of this person is {}", door.code());
        self.platform.issue_code(door.user).parse().ok()
    }
}

#[async_trait]
impl IdentityProvider for DemoIdentity {
    async fn exchange(
        &self,
        code: &IdpCode,
        verifier: Option<&CodeVerifier>,
        redirect: &WebUrl,
    ) -> Result<PlatformTokens, IdentityError> {
        let translated = self.translate(code);
        self.platform.exchange(translated.as_ref().unwrap_or(code), verifier, redirect).await
    }

    async fn user(&self, access: &Secret) -> Result<User, IdentityError> {
        self.platform.user(access).await
    }

    async fn guilds(&self, access: &Secret) -> Result<Vec<Membership>, IdentityError> {
        self.platform.guilds(access).await
    }

    async fn refresh(&self, refresh: &Secret) -> Result<PlatformTokens, IdentityError> {
        self.platform.refresh(refresh).await
    }

    async fn revoke(&self, token: &Secret) -> Result<(), IdentityError> {
        self.platform.revoke(token).await
    }
}
