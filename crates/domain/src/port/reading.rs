//! What reads what the bot feeds, each port exchangeable alone.

use super::StoreError;
use crate::{
    model::{Feedback, FeedbackId, GuildId, GuildWithRoles, Heartbeat, TeamMember, UserId},
    rules::Seed,
};
use async_trait::async_trait;
use std::{num::NonZeroU32, sync::Arc};

/// Knows who is blocked.
#[async_trait]
pub trait BlockList: Send + Sync {
    /// Whether the user is blocked. Nothing else need be known of a user.
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError>;
}

/// Reads feedback.
#[async_trait]
pub trait FeedbackStore: Send + Sync {
    /// `count` distinct positive entries in random order, or all where there are fewer: of those that can be read. Each
    /// choice and each order is equally likely over all seeds, and the cost does not grow with the number of entries: an
    /// adapter numbers its positive entries and has [`positions`](crate::rules::Draw::positions) drawn.
    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError>;

    /// Positive entries that can be read, in ascending order of their ids, from the first after `after` on. There are `most`
    /// of them, and fewer only where no more follow: a short page is the last one. Whoever reads page by page while others
    /// write meets every entry that stays as it is exactly once.
    async fn positive_after(
        &self,
        after: Option<&FeedbackId>,
        most: NonZeroU32,
    ) -> Result<Vec<Arc<Feedback>>, StoreError>;

    /// One entry, whatever its rating.
    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError>;
}

/// Knows the guilds that the bot reports.
#[async_trait]
pub trait GuildDirectory: Send + Sync {
    /// Those of `guilds` that have the bot, each once, in any order, with the user's roles in them: all as of one
    /// moment.
    async fn with_roles(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildWithRoles>, StoreError>;
}

/// Knows the team that maintains the bot.
#[async_trait]
pub trait TeamRoster: Send + Sync {
    /// The whole team, in any order: the order shown is a rule of the domain.
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError>;
}

/// Knows the last report of each cluster.
#[async_trait]
pub trait BotTelemetry: Send + Sync {
    /// The last report of every cluster, silent or not, in any order.
    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError>;
}
