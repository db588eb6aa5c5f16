//! The use cases over in-memory adapters.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed, and says where")]

mod dispatcher;
mod feed;
mod list_guilds;
mod refresh;
mod revoke_unused;
mod sessions;
mod sign_in;
mod watch_bot;

use companion_domain::{
    model::Membership,
    port::{Grant, GrantStore, Record, SessionStore},
    session::Session,
    usecase::{GuildListing, ListGuildsError, SignedIn},
};
use companion_testkit::{
    use_cases::{InMemory, Ports, Settings, UseCases, settings},
    vault::TestVault,
    world::{a_guild, a_user, an_ownership, user_id},
};
use std::{sync::Arc, time::Duration};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const INSTANT: Duration = Duration::from_micros(1);

/// The default user.
const USER: u64 = 100;
/// The guild that this user owns.
const GUILD: u64 = 500;

/// Use cases, with access to what is behind them.
struct Stage {
    memory: InMemory,
    use_cases: UseCases,
}

impl Stage {
    fn new() -> Self {
        Self::with(settings())
    }

    fn with(settings: Settings) -> Self {
        Self::over(InMemory::new(), settings)
    }

    fn over(memory: InMemory, settings: Settings) -> Self {
        let use_cases = UseCases::new(&memory.ports, settings);
        Self { memory, use_cases }
    }

    /// Returns use cases over the same ports, like another node.
    fn another_node(&self) -> UseCases {
        UseCases::new(&self.memory.ports, settings())
    }

    /// Returns use cases over the same ports, with these keys.
    fn with_keys(&self, vault: TestVault) -> UseCases {
        UseCases::new(&Ports { vault: Arc::new(vault), ..self.memory.ports.clone() }, settings())
    }

    /// Puts a record, as the bot does.
    async fn put(&self, record: Record) {
        self.use_cases.feed.records.put(record).await.unwrap();
    }

    /// Returns the listing of [`USER`].
    async fn list(&self) -> Result<GuildListing, ListGuildsError> {
        self.use_cases.list_guilds.list(user_id(USER)).await
    }

    /// Returns the stored grant of [`USER`].
    async fn grant(&self) -> Option<Grant> {
        GrantStore::find(&*self.memory.storage, user_id(USER)).await.unwrap()
    }

    /// Returns the stored sessions of [`USER`].
    async fn sessions(&self) -> Vec<Session> {
        SessionStore::of_user(&*self.memory.storage, user_id(USER)).await.unwrap()
    }

    /// Creates a stage on which [`USER`] signed in this long ago.
    async fn signed_in_since(passed: Duration) -> Self {
        let stage = Self::new();
        stage.signed_in().await;
        stage.memory.clock.advance(passed);
        stage
    }

    /// Signs [`USER`] in as the owner of [`GUILD`], which has the bot.
    async fn signed_in(&self) -> SignedIn {
        self.put(Record::Guild(a_guild(GUILD))).await;
        self.signs_in(USER, vec![an_ownership(GUILD)]).await
    }

    async fn signs_in(&self, user: u64, guilds: Vec<Membership>) -> SignedIn {
        let request = self.memory.arrival(a_user(user), guilds);
        self.use_cases.sign_in.sign_in(&request).await.unwrap()
    }
}
