//! Guilds that have the bot, and the roles of their members.

use super::StoreError;
use crate::model::{GuildId, GuildSeen, UserId};
use async_trait::async_trait;

/// Knows the guilds that the bot reports.
#[async_trait]
pub trait GuildDirectory: Send + Sync {
    /// Those of `guilds` that have the bot, each once, in any order, with the user's roles in them: all as of one
    /// moment.
    async fn seen_by(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildSeen>, StoreError>;
}
