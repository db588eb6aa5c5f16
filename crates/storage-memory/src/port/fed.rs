//! Ports that read the records fed by the bot.

use crate::state::MemoryStorage;
use async_trait::async_trait;
use companion_domain::{
    model::{Feedback, FeedbackId, GuildId, Heartbeat, Notice, Period, TeamMember, UserId},
    port::{
        BlockList, BotTelemetry, FeedbackStore, GuildDirectory, GuildTotals, GuildWithRoles, StatusHistory,
        StoreError, TeamRoster,
    },
    rules::Seed,
};
use std::{num::NonZeroU32, sync::Arc};

#[async_trait]
impl BlockList for MemoryStorage {
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        Ok(self.read().blocked.get(&user).is_some())
    }
}

#[async_trait]
impl BotTelemetry for MemoryStorage {
    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError> {
        Ok(self.read().clusters.iter().map(|(_, heartbeat)| Arc::clone(heartbeat)).collect())
    }
}

#[async_trait]
impl StatusHistory for MemoryStorage {
    async fn periods(&self) -> Result<Vec<Period>, StoreError> {
        Ok(self.read().periods.iter().map(|(_, period)| period.clone()).collect())
    }

    async fn notices(&self) -> Result<Vec<Notice>, StoreError> {
        Ok(self.read().notices.iter().map(|(_, notice)| notice.clone()).collect())
    }
}

#[async_trait]
impl GuildDirectory for MemoryStorage {
    async fn with_roles(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildWithRoles>, StoreError> {
        Ok(self.read().guilds.with_roles(user, guilds))
    }

    async fn totals(&self) -> Result<Option<GuildTotals>, StoreError> {
        let state = self.read();
        let sum = |sum: GuildTotals, members: u32| GuildTotals {
            guilds: sum.guilds + 1,
            members: sum.members + u64::from(members),
        };
        let members = state.guilds.all().map(|known| known.guild.members.get());
        Ok(Some(members.fold(GuildTotals::default(), sum)))
    }
}

#[async_trait]
impl TeamRoster for MemoryStorage {
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        Ok(self.read().team.iter().map(|(_, member)| member.clone()).collect())
    }
}

#[async_trait]
impl FeedbackStore for MemoryStorage {
    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError> {
        Ok(self.read().feedback.pick_positive(count, seed))
    }

    async fn positive_after(
        &self,
        after: Option<&FeedbackId>,
        most: NonZeroU32,
    ) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let most = usize::try_from(most.get()).unwrap_or(usize::MAX);
        Ok(self.read().feedback.positive_after(after).take(most).cloned().collect())
    }

    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError> {
        Ok(self.read().feedback.find(id))
    }
}
