//! Read ports for the data that the bot feeds. Each can be replaced alone.

use super::StoreError;
use crate::{
    model::{Feedback, FeedbackId, GuildId, GuildWithRoles, Heartbeat, Notice, Period, TeamMember, UserId},
    rules::Seed,
};
use async_trait::async_trait;
use std::{num::NonZeroU32, sync::Arc};

/// Reads blocks.
#[async_trait]
pub trait BlockList: Send + Sync {
    /// Returns whether the user is blocked. Users need not be known otherwise.
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError>;
}

/// Reads feedback.
#[async_trait]
pub trait FeedbackStore: Send + Sync {
    /// Returns `count` distinct positive entries in random order, or all readable ones if there are fewer. Over all
    /// seeds each choice and each order is equally likely, and the cost does not grow with the number of entries. An
    /// adapter numbers its positive entries and draws [`positions`](crate::rules::Draw::positions).
    async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError>;

    /// Returns up to `most` readable positive entries with ids after `after`, in ascending order. Fewer than `most`
    /// means that no more follow. A reader that pages while others write gets every unchanged entry exactly once.
    async fn positive_after(
        &self,
        after: Option<&FeedbackId>,
        most: NonZeroU32,
    ) -> Result<Vec<Arc<Feedback>>, StoreError>;

    /// Returns an entry, whatever its rating.
    async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError>;
}

/// Reads the guilds that the bot reports.
#[async_trait]
pub trait GuildDirectory: Send + Sync {
    /// Returns those of `guilds` that have the bot, each once, in any order, with the user's roles in them, as one snapshot.
    async fn with_roles(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildWithRoles>, StoreError>;

    /// Counts the guilds that have the bot, and sums their members. `None` if the adapter cannot count.
    async fn totals(&self) -> Result<Option<GuildTotals>, StoreError> {
        Ok(None)
    }
}

/// How many guilds have the bot, and how many members they have together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GuildTotals {
    /// Number of guilds.
    pub guilds: u64,
    /// Sum of their members.
    pub members: u64,
}

/// Reads the team that maintains the bot.
#[async_trait]
pub trait TeamRoster: Send + Sync {
    /// Returns the whole team, in any order. The order in which it is shown is a rule of the domain.
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError>;
}

/// Reads the last report of each cluster.
#[async_trait]
pub trait BotTelemetry: Send + Sync {
    /// Returns the last report of every cluster, silent or not, in any order.
    async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError>;
}

/// Reads the bot's history.
#[async_trait]
pub trait StatusHistory: Send + Sync {
    /// Returns all periods, in any order.
    async fn periods(&self) -> Result<Vec<Period>, StoreError>;

    /// Returns all notices, in any order.
    async fn notices(&self) -> Result<Vec<Notice>, StoreError>;
}
