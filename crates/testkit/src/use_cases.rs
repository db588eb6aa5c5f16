//! All use cases over ports that can be replaced one by one.
//!
//! ```
//! use companion_testkit::use_cases::{InMemory, Settings, UseCases, settings};
//!
//! let memory = InMemory::new();
//! let use_cases = UseCases::new(&memory.ports, Settings { keep_tokens: false, ..settings() });
//! ```

pub use companion_domain::{
    port::{Ports, Stores},
    usecase::{Settings, UseCases},
};

use crate::{clock::FixedClock, entropy::SeededEntropy, scheduler::TestScheduler, vault::TestVault};
use companion_domain::{
    model::{Membership, SecretKey, Span, User, UserId},
    port::{Clock, Entropy},
    session::{SessionLimits, TokenRing},
    usecase::{Freshness, SignInRequest},
};
use companion_storage_memory::{MemoryIdentity, MemoryStorage};
use std::{num::NonZeroU32, sync::Arc};

/// The redirect URI of requests created here.
pub(crate) const REDIRECT: &str = "https://dashboard.example/callback";

/// In-memory ports, with access to what is behind them.
pub struct InMemory {
    /// The ports, over the storage below unless a test replaced one.
    pub ports: Ports,
    /// The clock.
    pub clock: Arc<FixedClock>,
    /// The repeatable randomness.
    pub entropy: Arc<SeededEntropy>,
    /// The storage.
    pub storage: Arc<MemoryStorage>,
    /// The platform.
    pub identity: Arc<MemoryIdentity>,
    /// The background tasks.
    pub scheduler: Arc<TestScheduler>,
}

impl InMemory {
    /// Creates an empty platform and storage.
    #[must_use]
    pub fn new() -> Self {
        Self::over(MemoryStorage::new())
    }

    /// Creates an empty platform over this storage.
    #[must_use]
    pub fn over(storage: MemoryStorage) -> Self {
        let storage = Arc::new(storage);
        let (clock, entropy) = (Arc::new(FixedClock::default()), Arc::new(SeededEntropy::default()));
        let (time, chance): (Arc<dyn Clock>, Arc<dyn Entropy>) = (clock.clone(), entropy.clone());
        let identity = Arc::new(MemoryIdentity::new(time, chance));
        let scheduler = Arc::new(TestScheduler::default());
        let ports = Ports {
            stores: Stores::of(&storage),
            identity: identity.clone(),
            vault: Arc::new(TestVault::default()),
            clock: clock.clone(),
            entropy: entropy.clone(),
            scheduler: scheduler.clone(),
        };
        Self { ports, clock, entropy, storage, identity, scheduler }
    }

    /// Adds a user, who is in these guilds, to the platform and issues a code.
    #[must_use]
    pub fn arrival(&self, user: User, guilds: Vec<Membership>) -> SignInRequest {
        let id = user.id;
        self.identity.put_user(user, guilds);
        self.request(id)
    }

    /// Issues a code for a user of the platform.
    #[must_use]
    #[expect(clippy::unwrap_used, reason = "the in-memory platform issues well-formed codes")]
    pub fn request(&self, user: UserId) -> SignInRequest {
        SignInRequest::new(self.identity.issue_code(user).parse().unwrap(), REDIRECT.parse().unwrap())
    }
}

impl Default for InMemory {
    fn default() -> Self {
        Self::new()
    }
}

const DAY: u32 = 24 * 60 * 60;

/// Returns the defaults of the program, with a well-known key.
#[must_use]
pub fn settings() -> Settings {
    Settings {
        tokens: TokenRing::new(&SecretKey::new([1; 32]), &[]),
        limits: SessionLimits {
            lifetime: Span::from_seconds(30 * DAY),
            idle: Span::from_seconds(7 * DAY),
            per_user: NonZeroU32::MIN.saturating_add(9),
        },
        keep_tokens: true,
        freshness: Freshness { refresh_after: Span::from_seconds(60), stale_for: Span::from_seconds(DAY) },
        categories: Vec::new(),
        silent_after: Span::from_seconds(90),
    }
}
