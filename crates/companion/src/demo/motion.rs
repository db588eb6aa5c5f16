//! Changes of the sample world while the demo runs, and their intervals.

use super::{
    ManagementClient, Person, RequestError,
    guilds::{self, PROMOTION_GUILD, SETUP_GUILD, SampleRole, TRANSIENT_GUILD, guild_id},
};
use companion_domain::{
    model::{Invalid, Member, MemberCount, RoleSet, UserId, WebUrl},
    port::{Entropy, Record},
};
use companion_records::write_line;
use std::{sync::Arc, time::Duration};

/// Number of steps in a cycle. In the second half the bot has joined the guild that it joins and leaves, and the
/// moderator is promoted.
const STEPS_PER_CYCLE: u32 = 10;

/// Changes the sample world periodically. The initial data of the sample users stays, so that each of them always has
/// something to see.
pub(super) struct WorldMotion {
    api: ManagementClient,
    entropy: Arc<dyn Entropy>,
    cdn: WebUrl,
    moderator: UserId,
}

/// The reason why a step failed.
#[derive(Debug, thiserror::Error)]
enum StepError {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl WorldMotion {
    /// Creates the motion of a world with these users. Returns `None` if there is no moderator to promote.
    pub(super) fn of(
        people: &[Person],
        api: ManagementClient,
        entropy: Arc<dyn Entropy>,
        cdn: WebUrl,
    ) -> Option<Self> {
        let moderator = people.iter().find(|person| person.account.username == "sample_moderator")?.id;
        Some(Self { api, entropy, cdn, moderator })
    }

    /// Makes a step at this interval. Never returns.
    pub(super) async fn keep_moving(self, every: Duration) {
        for step in (1..=STEPS_PER_CYCLE).cycle() {
            tokio::time::sleep(every).await;
            if let Err(error) = self.step(step).await {
                tracing::warn!("the sample world could not move: {error}");
            }
        }
    }

    /// Sends a step as one sync, so that readers never see half of it.
    async fn step(&self, step: u32) -> Result<(), StepError> {
        let second_half = step > STEPS_PER_CYCLE / 2;
        let mut lines = String::new();
        for (index, mut guild) in guilds::guilds(&self.cdn)?.into_iter().enumerate() {
            if index == TRANSIENT_GUILD && !second_half {
                self.api.send("DELETE", &format!("/bot/guilds/{}", guild.id), "").await?;
                continue;
            }
            guild.members = MemberCount::new(u64::from(guild.members.get()) + self.some_newcomers())?;
            guild.setup &= index != SETUP_GUILD || second_half;
            lines += &write_line(Record::Guild(guild));
        }
        let roles = if second_half { SampleRole::Moderator.set()? } else { RoleSet::new(Vec::new())? };
        let member = Member { guild: guild_id(PROMOTION_GUILD)?, user: self.moderator, roles };
        lines += &write_line(Record::Member(member));
        self.api.send("POST", "/bot/sync", &lines).await?;
        Ok(())
    }

    fn some_newcomers(&self) -> u64 {
        let mut byte = [0];
        self.entropy.fill(&mut byte);
        byte.iter().fold(0, |_, byte| u64::from(byte % 16))
    }
}

/// Intervals of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Between two reports of the bot.
    pub report: Duration,
    /// Between two steps of the world.
    pub step: Duration,
}

impl Default for Pace {
    /// Reports often enough to keep clusters alive, and slowly enough to follow the steps.
    fn default() -> Self {
        Self { report: Duration::from_secs(5), step: Duration::from_secs(4) }
    }
}
