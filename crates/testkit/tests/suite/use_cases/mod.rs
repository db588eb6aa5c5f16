//! What the use cases do, over adapters in memory.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed, and says where")]

mod authenticate;
mod clusters;
mod elsewhere;
mod feed;
mod following;
mod forget;
mod give_back;
mod line;
mod list_guilds;
mod refresh;
mod reseal;
mod sessions;
mod show;
mod sign_in;
mod stumbling_store;
mod unreadable_grant;
mod watch_changes;
mod why;

use companion_domain::{model::Membership, port::Record, usecase::SignedIn};
use companion_testkit::{
    use_cases::{InMemory, Settings, UseCases, settings},
    world::{a_guild, a_user, an_ownership},
};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const INSTANT: Duration = Duration::from_micros(1);

/// The user that most tests are about.
const USER: u64 = 100;
/// The guild that user owns.
const GUILD: u64 = 500;

/// Use cases, and a hold on what is behind them.
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

    /// The same ports, as another node would use them.
    fn another_node(&self) -> UseCases {
        UseCases::new(&self.memory.ports, settings())
    }

    /// [`USER`] signs in as the owner of [`GUILD`], which has the bot.
    async fn signed_in(&self) -> SignedIn {
        self.use_cases.feed.records.put(Record::Guild(a_guild(GUILD))).await.unwrap();
        self.signs_in(USER, vec![an_ownership(GUILD)]).await
    }

    async fn signs_in(&self, user: u64, guilds: Vec<Membership>) -> SignedIn {
        let request = self.memory.arrival(a_user(user), guilds);
        self.use_cases.sign_in.sign_in(&request).await.unwrap()
    }
}
