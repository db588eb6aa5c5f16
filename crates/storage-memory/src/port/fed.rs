//! Ports that read the records fed by the bot.

use crate::{
    state::MemoryStorage,
    tables::{Named, Tables},
};
use async_trait::async_trait;
use companion_domain::{
    change::Key,
    model::{Feedback, FeedbackId, Guild, GuildId, Heartbeat, Notice, Period, TeamMember, UserId},
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
        Ok(self.read().get(&Key::Blocked(user)).is_some())
    }
}

#[async_trait]
impl BotTelemetry for MemoryStorage {
    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError> {
        Ok(self.read().clusters.values().cloned().collect())
    }
}

#[async_trait]
impl StatusHistory for MemoryStorage {
    async fn periods(&self) -> Result<Vec<Period>, StoreError> {
        Ok(self.read().contents().cloned().collect())
    }

    async fn notices(&self) -> Result<Vec<Notice>, StoreError> {
        Ok(self.read().contents().cloned().collect())
    }
}

#[async_trait]
impl GuildDirectory for MemoryStorage {
    async fn with_roles(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildWithRoles>, StoreError> {
        Ok(self.read().with_roles(user, guilds))
    }

    async fn totals(&self) -> Result<Option<GuildTotals>, StoreError> {
        let mut totals = GuildTotals::default();
        for guild in self.read().contents::<Guild>() {
            totals.guilds += 1;
            totals.members += u64::from(guild.members.get());
        }
        Ok(Some(totals))
    }
}

#[async_trait]
impl TeamRoster for MemoryStorage {
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        Ok(self.read().contents().cloned().collect())
    }
}

#[async_trait]
impl FeedbackStore for MemoryStorage {
    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let state = self.read();
        let entries: Vec<_> = state.naming(Named::Positive).collect();
        let drawn = seed.draw().positions(entries.len(), count).into_iter();
        Ok(drawn.filter_map(|position| feedback(&state, entries.get(position)?)).collect())
    }

    async fn positive_after(
        &self,
        after: Option<&FeedbackId>,
        most: NonZeroU32,
    ) -> Result<Vec<Arc<Feedback>>, StoreError> {
        let most = most.get() as usize;
        let (state, after) = (self.read(), after.cloned().map(Key::Feedback));
        let later = state.naming(Named::Positive).filter(|key| Some(*key) > after.as_ref());
        Ok(later.filter_map(|key| feedback(&state, key)).take(most).collect())
    }

    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError> {
        Ok(feedback(&self.read(), &Key::Feedback(id.clone())))
    }
}

fn feedback(state: &Tables, key: &Key) -> Option<Arc<Feedback>> {
    state.content::<Feedback>(key).cloned().map(Arc::new)
}
